#pragma once

#include <CLI/CLI.hpp>

#include "cohort/distribute/cluster/security_options.h"

namespace cohort::programs {

// Options of a command that say how it proves who it is.
//   options: where they go; must outlive the command.
void add_security_options(CLI::App& command, distribute::SecurityOptions& options);

}  // namespace cohort::programs
