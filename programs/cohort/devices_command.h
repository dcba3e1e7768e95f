#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort devices`: what this machine has to compute on, as a table or as JSON.
void add_devices_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
