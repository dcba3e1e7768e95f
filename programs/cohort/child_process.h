#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort::programs {

struct ChildProcessOptions {
  std::vector<std::string> arguments;                                 // the program first, looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment = {};  // beside, or instead of, what we have
  bool inherit_input = false;                                         // else it reads an empty file
};

// A program that runs beside us, in a process group of its own, printing into pipes. It dies when we die, however that
// happens. For one thread.
class ChildProcess {
 public:
  // Throws NotFound when the program cannot be run.
  explicit ChildProcess(const ChildProcessOptions& options);
  // Kills whatever is left.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;

  pid_t id() const { return id_; }
  // The reading ends of its output and errors; they do not block.
  int output() const { return output_; }
  int errors() const { return errors_; }
  // To the process and those it started.
  void signal(int number);
  // Its exit code, 128 + number when a signal ended it; nothing while it runs. What it started and left behind is
  // killed.
  std::optional<int> ended();

 private:
  pid_t id_ = -1;
  int output_ = -1;
  int errors_ = -1;
  std::optional<int> exit_code_;
};

}  // namespace cohort::programs
