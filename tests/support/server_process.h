#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cohort::test {

// One task of a cluster as a process of its own: build/bin/cohort server. To be started, and started again, by a thread
// that outlives it: it ends with that thread.
class ServerProcess {
 public:
  // `cluster` is the JSON of all addresses; `address`, where it listens when it is not the one given there. What the
  // process prints goes to the file `log`. `more` are arguments besides.
  ServerProcess(std::string job, int index, std::string cluster, std::string address, std::string log,
                std::vector<std::string> more = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;

  const std::string& task() const { return task_; }
  pid_t id() const { return id_; }
  // Starts it and waits until it serves. At most one runs at a time.
  void start();
  // SIGKILL; returns when it is gone.
  void kill();
  // SIGTERM.
  void ask_to_end() const;
  // It stands still, as a machine that is overloaded or cut off does.
  void pause() const;
  void go_on() const;
  // Starts it again if it has ended by itself.
  void start_if_ended();
  // Whether it runs and ends by itself within that time, with exit code 0.
  bool ends_well(int seconds);
  // All that was printed so far, by all that ran here.
  std::string output() const;

 private:
  void signal(int number) const;

  const std::string job_, task_, cluster_, address_, log_;
  const std::vector<std::string> more_;
  const int index_;
  pid_t id_ = -1;
};

}  // namespace cohort::test
