#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort predict --model FILE --inputs in.h5 --outputs out.h5`: a saved model's outputs, as a file.
void add_predict_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
