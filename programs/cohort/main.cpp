// The command `cohort`: one subcommand per pair of files beside this one.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "programs/cohort/bench_command.h"
#include "programs/cohort/certs_command.h"
#include "programs/cohort/convert_command.h"
#include "programs/cohort/devices_command.h"
#include "programs/cohort/launch_command.h"
#include "programs/cohort/predict_command.h"
#include "programs/cohort/server_command.h"
#include "programs/cohort/status_command.h"
#include "programs/cohort/summary_command.h"

int main(int argc, char** argv) {
  constexpr int kFailed = 1, kMisused = 2;
  CLI::App app("Cohort's commands; `cohort COMMAND --help` says more about each", "cohort");
  app.require_subcommand(1);
  int exit_code = 0;
  cohort::programs::add_launch_command(app, exit_code);
  cohort::programs::add_server_command(app, exit_code);
  cohort::programs::add_status_command(app, exit_code);
  cohort::programs::add_summary_command(app, exit_code);
  cohort::programs::add_predict_command(app, exit_code);
  cohort::programs::add_convert_command(app, exit_code);
  cohort::programs::add_bench_command(app, exit_code);
  cohort::programs::add_devices_command(app, exit_code);
  cohort::programs::add_certs_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kMisused;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return kFailed;
  }
  return exit_code;
}
