#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/coordinator/sent_constants.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/rpc/reliable_stream.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute {

struct TaskConnectionOptions {
  // How long tasks may take to come up.
  std::chrono::milliseconds start_timeout{60'000};
  rpc::TransportOptions transport = {};
};

// The chief's ways to the tasks of its cluster. Thread-safe.
class TaskConnections {
 public:
  static constexpr int kEveryPs = -1;

  // Says hello to every worker and ps; throws Unavailable with a table of those that do not answer in time, and at once
  // when one of them is not who it should be.
  TaskConnections(ClusterSpec spec, TaskConnectionOptions options);
  // Tells all tasks that the job has ended.
  ~TaskConnections();
  TaskConnections(const TaskConnections&) = delete;

  std::uint64_t job() const { return job_; }
  int num_workers() const { return static_cast<int>(workers_.size()); }
  int num_ps() const { return static_cast<int>(ps_tasks_.size()); }
  const rpc::Peer& worker(int index) const { return workers_[static_cast<std::size_t>(index)]; }

  // One call to a ps, or to all of them one after the other: the last one's reply. Constants that the request's graphs
  // name and a ps lacks come along.
  template <Method M>
  ReceivedReply<M> call(int ps, Head head, const typename MetadataOf<M>::Request& metadata,
                        const ConstantTable& constants, const Tensors& parts = {}) {
    const bool all = ps == kEveryPs;
    ReceivedReply<M> reply;
    for (int index = all ? 0 : ps; index < (all ? num_ps() : ps + 1); ++index) {
      ParameterServerConnection& to = *ps_tasks_[static_cast<std::size_t>(index)];
      std::lock_guard lock(to.mutex);
      head.job = head.incarnation = job_;
      // Counted in the order they are sent: the ps takes a smaller number for a repeat.
      if constexpr (M == Method::RunGraph) head.closure = ++to.runs;
      reply = call_with_constants<M>(*to.stream, head, metadata, constants, to.constants, parts);
      if ((head.flags & kWrites) && reply.head.version > to.version) to.version = reply.head.version;
    }
    return reply;
  }
  std::vector<std::string> worker_names() const;  // "worker:0", ...
  std::vector<std::string> ps_addresses() const;
  // Of each ps's variables after the chief's last write.
  std::vector<std::uint64_t> versions() const;
  // Reconnects to a worker and shakes hands; throws when it does not answer.
  std::shared_ptr<rpc::Connection> connect_worker(int index) const;
  // A number no other message of this chief has.
  std::uint64_t next_number() { return ++numbers_; }

 private:
  struct ParameterServerConnection {
    rpc::Peer peer;
    std::atomic<std::uint64_t> version{0};  // written under the mutex, read by those who schedule
    std::mutex mutex;                       // guards what follows
    std::unique_ptr<rpc::ReliableStream> stream;
    SentConstants constants;
    std::uint64_t runs = 0;  // graphs of the chief's own so far
  };
  std::shared_ptr<rpc::Connection> greet(const rpc::Peer& peer, const rpc::TransportOptions& transport) const;
  void wait_for_tasks();

  const ClusterSpec spec_;
  const TaskConnectionOptions options_;
  const std::uint64_t job_;
  std::vector<rpc::Peer> workers_;
  std::vector<std::unique_ptr<ParameterServerConnection>> ps_tasks_;
  std::atomic<std::uint64_t> numbers_{0};
};

}  // namespace cohort::distribute
