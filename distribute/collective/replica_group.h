#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/core/device_group.h"
#include "cohort/distribute/collective/communicator.h"
#include "cohort/distribute/collective/gathered_rows.h"
#include "cohort/distribute/collective/packed_reduction.h"
#include "cohort/distribute/collective/reduction_queue.h"
#include "cohort/distribute/collective/replica_reduction.h"

namespace cohort::distribute {

// Replicas that meet to reduce what each has computed: all those of one process, and through a communicator those of
// other workers. Each replica's part of it is for one thread at a time, that of the replica.
class ReplicaGroup {
 public:
  // Joins the group in which the replicas' devices, and those of other workers, reduce among themselves.
  using JoinDevices = std::function<std::unique_ptr<DeviceGroup>()>;

  struct Options {
    // How those of this process reduce; nullptr: each adds up a range of every value.
    std::shared_ptr<const ReplicaReduction> reduction = nullptr;
    // Rows of tables cross: all replicas, of all workers, compute on CPUs.
    bool gathers_rows = false;
    // What replicas begin and wait for later crosses to other workers on a thread of its own.
    bool has_thread = false;
    // Empty: values are reduced on the hosts.
    JoinDevices join_devices = {};
  };

  // So many replicas of this process.
  //   workers: by which the first of them meets those of other workers; nullptr: there are none.
  explicit ReplicaGroup(int replicas, std::shared_ptr<collective::Communicator> workers = nullptr)
      : ReplicaGroup(replicas, std::move(workers), Options()) {}
  ReplicaGroup(int replicas, std::shared_ptr<collective::Communicator> workers, const Options& options);
  ~ReplicaGroup();

  // How many replicas there are.
  int size() const { return static_cast<int>(seats_.size()); }
  // What a replica meets the others by.
  const std::shared_ptr<Collective>& member(int replica) const { return members_[static_cast<std::size_t>(replica)]; }
  // What a replica adds to sums does not count while it is silent; where all are, sums are zero. To be changed while no
  // replica is in it, and no device has a reduction still to do. Devices that reduce among themselves do not heed it.
  void set_silent(int replica, bool silent) { seats_[static_cast<std::size_t>(replica)].silent = silent; }
  bool is_silent(int replica) const { return seats_[static_cast<std::size_t>(replica)].silent; }
  // Ends every wait, also those to come, with an error of this text: a replica that failed says so to the others.
  void abort(const std::string& reason) noexcept;
  // What a replica that failed tells the others.
  static std::string reason_of(int replica, const std::exception_ptr& error);
  // Forgets that it was ended; when no replica is in it.
  void reset();
  // Throws what has ended reductions among devices, whose values are then worth nothing.
  void check() const;

 private:
  class Member;
  // What a replica has come with.
  struct Seat {
    std::span<const Collective::Part> parts;
    const void* const* inputs = nullptr;
    void* const* outputs = nullptr;
    Collective::Reduction reduction = Collective::Reduction::Sum;
    bool gathers = false;
    Collective::Rows rows{};
    bool silent = false;
    std::atomic<std::uint64_t> meetings = 0;  // that the replica has come to
    // Of one part, those of all replicas; kept for their memory.
    std::vector<const void*> all_inputs;
    std::vector<void*> all_outputs;
  };

  void all_reduce(int replica, std::span<const Collective::Part> parts, const void* const* inputs, void* const* outputs,
                  Collective::Reduction reduction);
  void gather(int replica, std::span<const Collective::Part> parts, int replicas, const void* const* inputs,
              void* const* outputs);
  bool gather_rows(int replica, const Collective::Rows& rows, std::int64_t most, Collective::UseRows use);
  // What all replicas here have brought, and with it what other workers have.
  void gather_brought_rows(std::int64_t most);
  void start(int replica, std::span<const Collective::Part> parts, void* const* values);
  void wait(int replica, void* const* values);
  void abandon(int replica) noexcept;
  // Of all replicas, which have begun it.
  void carry_out(ReductionQueue::Job& job);
  // Behind what was begun before.
  void reduce_in_queue(int replica, std::span<const Collective::Part> parts, const void* const* inputs,
                       void* const* outputs, Collective::Reduction reduction);
  // Lets a replica put its part of a reduction into a stream of its device.
  void on_device(int replica, const std::function<void(DeviceGroup& group)>& enqueue);
  // Returns when all replicas have called it.
  void meet(int replica);
  void wait_for_others(std::uint64_t meeting);
  // Behind what the replica has begun before.
  void wait_for_begun(int replica);
  bool has_parts_of_first(int replica) const;
  bool all_gather_the_same() const;
  void check_same_parts(int replica) const;
  void check_same_rows(int replica) const;
  bool all_silent() const;
  // The replica's share of the work of all.
  void reduce_share(int replica);
  // The first replica's outputs become those of all workers, and then those of all replicas here.
  void reduce_across_workers(int replica);
  std::string missing_replicas(std::uint64_t meeting) const;
  [[noreturn]] void throw_aborted();

  std::vector<std::shared_ptr<Collective>> members_;
  const std::shared_ptr<collective::Communicator> workers_;
  const std::shared_ptr<const ReplicaReduction> reduction_;
  std::unique_ptr<PackedReduction> packed_;
  const bool gathers_rows_;
  GatheredRows gathered_rows_;
  std::vector<Collective::Rows> brought_rows_;  // kept for its memory
  bool rows_are_few_ = false;
  std::unique_ptr<ReductionQueue> queue_;  // where there are workers
  const JoinDevices join_devices_;
  // The last one counts; recordings may hold work of those before.
  std::vector<std::unique_ptr<DeviceGroup>> device_groups_;
  std::vector<Seat> seats_;
  std::atomic<int> arrived_ = 0;
  std::atomic<std::uint64_t> meeting_ = 0;  // those that have ended
  std::atomic<int> sleepers_ = 0;
  std::atomic<bool> aborted_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  std::string reason_;
};

}  // namespace cohort::distribute
