#pragma once

#include <signal.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "programs/cohort/child_process.h"
#include "programs/cohort/line_prefixer.h"

namespace cohort::programs {

struct LaunchedTask {
  std::string name;  // "worker:1"
  std::vector<std::pair<std::string, std::string>> environment = {};
  bool leader = false;   // exactly one: when it ends, all end
  bool restart = false;  // restarts when it failed
  int restarts = 0;      // of a leader: how often it may fail and restart, and with it those of the others that ended
  std::chrono::seconds stop_time{5};  // between being asked to end and being killed
};

// Runs one program as several tasks: prints their lines with their names, passes signals on, ends them all when the
// leader has ended. For one thread, the only one of its process.
class Launcher {
 public:
  Launcher(std::vector<std::string> program, std::vector<LaunchedTask> tasks);
  ~Launcher();
  // The leader's exit code. Throws when the program cannot be run.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Running;

  void start(Running& task);
  // Waits for output, signals and ends until `until`, at most a moment, and deals with them.
  void wait_and_serve(Clock::time_point until);
  void read_output(Running& task);
  void take_signals();
  void notice_end(Running& task);
  bool will_restart(Running& task);
  void stop_all();
  void say(const Running& task, const std::string& text);
  // For the other tasks, who see no more than a connection that breaks.
  void note_end(const Running& task);

  std::vector<std::string> program_;
  std::vector<std::unique_ptr<Running>> tasks_;
  Running* leader_ = nullptr;
  sigset_t signals_before_{};
  int signal_stream_ = -1;
  std::string exits_file_;
  int exits_ = -1;
  int signals_passed_ = 0;
  bool stopping_ = false;
};

}  // namespace cohort::programs
