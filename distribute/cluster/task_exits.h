#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace cohort::distribute {

// Names a file in which whoever starts the tasks of this machine notes how their processes ended.
inline constexpr const char* kTaskExitsVariable = "COHORT_TASK_EXITS";
// A line of that file. The code is that of a shell: 128 + the signal's number if one ended the process.
std::string task_exit_line(const std::string& task, int exit_code);

// How the process of one task ended, where that is noted. Used by one thread.
class TaskExits {
 public:
  // From now on.
  explicit TaskExits(std::string task);
  // "its process ended with exit code 137 (...)", if it has since the last call; waits a moment for the note.
  std::string reason();

 private:
  // How often it ended, and with which code the last time.
  std::pair<std::size_t, int> read() const;

  const std::string task_, file_;
  std::size_t seen_ = 0;
};

}  // namespace cohort::distribute
