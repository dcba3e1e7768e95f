#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort status --cluster JSON`: what the tasks of a running cluster say of themselves, as a table.
void add_status_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
