#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort convert FROM TO`: a saved model in another of Keras's file formats.
void add_convert_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
