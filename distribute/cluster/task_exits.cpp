#include "cohort/distribute/cluster/task_exits.h"

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace cohort::distribute {
namespace {

// A connection is reset a moment before the process that had it can be waited for.
constexpr std::chrono::milliseconds kBetweenReads{5}, kLongestWait{200};

std::string exits_file() {
  const char* file = std::getenv(kTaskExitsVariable);
  return file ? file : "";
}

std::string meaning_of(int exit_code) {
  switch (exit_code) {
    case 128 + SIGKILL:
      return " (killed, as the system does where memory runs out)";
    case 128 + SIGSEGV:
      return " (a crash: segmentation fault)";
    case 128 + SIGABRT:
      return " (aborted)";
    case 128 + SIGTERM:
      return " (terminated)";
    default:
      return "";
  }
}

}  // namespace

std::string task_exit_line(const std::string& task, int exit_code) {
  return task + " " + std::to_string(exit_code) + "\n";
}

TaskExits::TaskExits(std::string task) : task_(std::move(task)), file_(exits_file()), seen_(read().first) {}

std::pair<std::size_t, int> TaskExits::read() const {
  std::pair<std::size_t, int> last;
  if (file_.empty()) return last;
  std::ifstream lines(file_);
  std::string task;
  int exit_code = 0;
  while (lines >> task >> exit_code) {
    if (task == task_) last = {last.first + 1, exit_code};
  }
  return last;
}

std::string TaskExits::reason() {
  if (file_.empty()) return {};
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  for (;;) {
    const auto [ends, exit_code] = read();
    if (ends > seen_) {
      seen_ = ends;
      return "its process ended with exit code " + std::to_string(exit_code) + meaning_of(exit_code);
    }
    if (std::chrono::steady_clock::now() >= deadline) return {};
    std::this_thread::sleep_for(kBetweenReads);
  }
}

}  // namespace cohort::distribute
