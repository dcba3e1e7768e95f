#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/coordinator/pending_releases.h"
#include "cohort/distribute/coordinator/sent_constants.h"
#include "cohort/distribute/protocol/attached_constants.h"
#include "cohort/distribute/protocol/members.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/trace_log.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/rpc/reliable_stream.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute {

struct TaskConnectionOptions {
  // How long tasks may take to come up.
  std::chrono::milliseconds start_timeout{60'000};
  // How long a worker may hear nothing from a ps before its work is given to others.
  std::chrono::milliseconds ps_retry{10'000};
  // How long the chief may hear nothing from a ps before that is lost.
  std::chrono::milliseconds ps_lost_after{30'000};
  std::string job_name = {};  // by which tasks know the job; empty: made of the addresses of the ps
  std::string job_key = {};   // whoever shows the same one may take over from this chief
  bool take_over = false;     // from a chief that is still there
  rpc::TransportOptions transport = {};
  // Workers that have joined at the first ps are workers of the job, too; one worker that answers is enough to begin.
  bool workers_may_join = false;
  // How many versions of its ps a worker's replica may be older when a closure starts; none: any number.
  std::optional<std::uint64_t> max_staleness = std::nullopt;
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
  const std::optional<std::uint64_t>& max_staleness() const { return options_.max_staleness; }
  bool workers_may_join() const { return options_.workers_may_join; }
  // Workers that are there; at least 1.
  int num_workers() const { return present_count_; }
  // Workers that have ever been there: their numbers are smaller.
  int num_slots() const;
  int num_ps() const { return static_cast<int>(ps_tasks_.size()); }
  // Where a worker is, or was when it left.
  rpc::Peer worker(int index) const;
  // Whether it is there, for as long as this lives.
  const std::atomic<bool>& presence_of(int index) const;
  // The numbers of those that are there.
  std::vector<int> present() const;
  // The workers are those of the cluster and these, which may be at other addresses. Returns the numbers of those that
  // were there before and are at another address now.
  std::vector<int> set_members(const MemberList& list);
  // Of the list that was set last.
  std::uint64_t member_generation() const;
  // Devices that each worker computes on.
  int devices_per_worker() const { return devices_per_worker_; }

  // One call to a ps, or to all of them one after the other: the last one's reply. Constants that the request's graphs
  // name and a ps lacks come along, and before it what the ps is to let go of.
  template <Method M>
  ReceivedReply<M> call(int ps, Head head, const typename MetadataOf<M>::Request& metadata,
                        const ConstantTable& constants, const Tensors& parts = {}) {
    const bool all = ps == kEveryPs;
    ReceivedReply<M> reply;
    for (int index = all ? 0 : ps; index < (all ? num_ps() : ps + 1); ++index) {
      ParameterServerConnection& to = *ps_tasks_[static_cast<std::size_t>(index)];
      std::lock_guard lock(to.mutex);
      head.job = head.incarnation = job_;
      head.epoch = epoch_;
      // Counted in the order they are sent: the ps takes a smaller number for a repeat.
      if constexpr (M == Method::RunGraph) head.closure = ++to.runs;
      tell_releases(static_cast<std::size_t>(index));
      reply = call_ps<M>(to, head, metadata, constants, parts);
      if ((head.flags & kWrites) && reply.head.version > to.version) to.version = reply.head.version;
    }
    return reply;
  }
  std::vector<std::string> worker_names() const;  // "worker:0", ...
  std::vector<std::string> ps_addresses() const;
  // Which keeps the book of members.
  const rpc::Peer& first_ps() const { return ps_tasks_.front()->peer; }
  // Workers and ps; and how they are reached by who asks after them without leading them.
  std::vector<rpc::Peer> tasks() const;
  rpc::TransportOptions transport() const;
  // Of what the chief's threads do with workers.
  TraceLog& trace_log() { return trace_log_; }
  // Of each ps's variables after the chief's last write.
  std::vector<std::uint64_t> versions() const;
  // A task that has answered a hello, and which of its processes it was.
  struct Greeted {
    std::shared_ptr<rpc::Connection> connection;
    std::uint64_t incarnation = 0;
    int devices = 1;     // that a worker computes on
    bool again = false;  // after it was lost
  };
  // Reconnects to a worker and shakes hands; throws when it does not answer.
  Greeted connect_worker(int index);
  // A worker that was lost works again; and how often that has happened.
  void note_recovery(int index) { ++worker_task(index).recoveries; }
  std::uint64_t recoveries(int index) const { return worker_task(index).recoveries; }
  // For a ps that somebody cannot reach: throws LostParameterServer when nobody listens there, when it has lost the
  // job's variables, or when the chief has not heard of it for ps_lost_after.
  void check_ps(int ps) const;
  // When it returns no ps applies anything that closures begun before have sent. Throws naming those it could not
  // tell.
  void fence();
  // What closures that are sent now belong to.
  std::uint64_t epoch() const { return epoch_; }
  // One that no closure so far belongs to.
  std::uint64_t next_epoch() { return ++epoch_; }
  // A number no other message of this chief has.
  std::uint64_t next_number() { return ++numbers_; }
  // What tasks are to let go of.
  const std::shared_ptr<PendingReleases>& releases() const { return releases_; }

 private:
  // One worker, at its address of the time.
  struct WorkerTask {
    std::string task = {};
    std::string listed = {};   // its address in the cluster; empty: it is not there
    std::string address = {};  // guarded by the mutex, as the next two
    Greeted greeted = {};      // before it has anything to do
    bool met = false;
    std::atomic<bool> present{true};
    std::atomic<std::uint64_t> recoveries{0};
  };
  struct ParameterServerConnection {
    rpc::Peer peer;
    bool greeted = false;
    std::shared_ptr<rpc::Connection> connection;
    std::atomic<std::uint64_t> version{0};  // written under the mutex, read by those who schedule
    std::mutex mutex;                       // guards what follows
    std::unique_ptr<rpc::ReliableStream> stream;
    SentConstants constants;
    std::uint64_t runs = 0;      // graphs of the chief's own so far
    std::uint64_t releases = 0;  // messages of them so far
  };
  // Under the connection's mutex.
  template <Method M>
  static ReceivedReply<M> call_ps(ParameterServerConnection& to, const Head& head,
                                  typename MetadataOf<M>::Request metadata, const ConstantTable& constants,
                                  Tensors parts) {
    if constexpr (M == Method::RegisterServer) {
      ReceivedReply<M> reply =
          call_with_constants<M>(*to.stream, head, metadata, constants, to.constants, std::move(parts));
      to.constants.note_function(head.function, metadata.constants());
      return reply;
    } else {
      attach_all(constants, *metadata.mutable_constants(), parts);
      return distribute::call<M>(*to.stream, head, metadata, std::move(parts));
    }
  }
  void tell_releases(std::size_t ps);
  Greeted greet(const rpc::Peer& peer, const rpc::TransportOptions& transport, std::uint64_t epoch,
                std::uint64_t recoveries) const;
  WorkerTask& worker_task(int index);
  const WorkerTask& worker_task(int index) const;
  WorkerTask& add_worker(const std::string& task);
  struct Missing;
  std::vector<Missing> missing_tasks() const;
  void greet_missing(Missing& task, std::chrono::milliseconds left);
  bool all_are_there(const std::vector<Missing>& missing) const;
  void look_into_book(std::shared_ptr<rpc::Connection>& keeper);
  void wait_for_tasks();
  void compare_devices();
  void check_devices(const std::string& task, int devices) const;
  // How the tasks of other processes are reached: "shared memory to ps:0, worker:0".
  std::string ways() const;
  void keep_links();
  void renew_links();

  const ClusterSpec spec_;
  const std::uint64_t job_;
  const TaskConnectionOptions options_;
  int devices_per_worker_ = 1;
  std::vector<std::unique_ptr<ParameterServerConnection>> ps_tasks_;
  std::shared_ptr<PendingReleases> releases_;
  std::atomic<std::uint64_t> numbers_{0}, epoch_{1};
  TraceLog trace_log_;
  std::atomic<int> present_count_{0};
  mutable std::mutex mutex_;        // guards what follows
  std::deque<WorkerTask> workers_;  // grows only
  std::uint64_t member_generation_ = 0;
  bool stopping_ = false;
  std::condition_variable stop_;
  std::thread keeper_;  // of links that nobody uses: a task without one takes its chief for gone
};

}  // namespace cohort::distribute
