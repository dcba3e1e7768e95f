#pragma once

#include "tests/support/started_program.h"

namespace cohort::test {

// build/bin/cohort, running with the given arguments.
class StartedCommand : public StartedProgram {
 public:
  StartedCommand(const std::vector<std::string>& arguments, const std::filesystem::path& folder)
      : StartedProgram("cohort", {.arguments = arguments}, folder) {}
};

}  // namespace cohort::test
