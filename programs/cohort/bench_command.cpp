#include "programs/cohort/bench_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::programs {
namespace {

// Becomes cohort-bench; returns only by throwing.
[[noreturn]] void become_bench(const std::vector<std::string>& arguments) {
  std::error_code problem;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", problem);
  const std::string program = (self.parent_path() / "cohort-bench").string();
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  throw not_found("cohort bench", "the program cohort-bench must stand beside cohort",
                  {{"program", program}, {"problem", std::strerror(errno)}}, "Build the target cohort-bench.");
}

}  // namespace

void add_bench_command(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("bench", "Measures training jobs: all that follows goes to cohort-bench");
  // Its options, --help among them, are the other program's.
  command->set_help_flag();
  command->prefix_command();
  command->callback([command] { become_bench(command->remaining()); });
}

}  // namespace cohort::programs
