#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort summary FILE`: the table of a model's layers, or the weights that a file holds.
void add_summary_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
