#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cohort/distribute/coordinator/status_calls.h"

namespace cohort::distribute {

// What the chief's logs say of its tasks: "step_seconds/worker_0", "queue_depth/ps_1" and so on. Thread-safe.
class ClusterFigures {
 public:
  using Figures = std::vector<std::pair<std::string, double>>;
  // `own` are those that the chief of `job` has without asking; they are called whenever figures are wanted.
  ClusterFigures(std::vector<rpc::Peer> tasks, rpc::TransportOptions options, std::function<Figures()> own,
                 std::uint64_t job = 0);
  ~ClusterFigures();
  ClusterFigures(const ClusterFigures&) = delete;
  // Asks others from now on.
  void set_tasks(std::vector<rpc::Peer> tasks);

  // Asks all tasks; waits a third of a second for those that do not answer, and leaves them out.
  Figures now();
  // Those that a thread was told since the last call: it asks every second while somebody wants to know. Waits for
  // nobody; empty when there is nothing new.
  Figures news();

 private:
  Figures ask();
  void keep_asking();

  const std::function<Figures()> own_;
  const rpc::TransportOptions options_;
  const std::uint64_t job_;
  std::mutex asking_;  // guards calls_
  std::unique_ptr<StatusCalls> calls_;
  std::mutex mutex_;  // guards what follows
  Figures news_;
  bool wanted_ = false, stopping_ = false;
  std::condition_variable changed_;
  std::thread thread_;  // begins when it is first needed
};

}  // namespace cohort::distribute
