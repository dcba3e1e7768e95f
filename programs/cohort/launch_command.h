#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort launch --workers N --ps M -- program args`: all tasks of a cluster on this machine, until its chief ends.
void add_launch_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
