#include "cohort/distribute/collective/replica_group.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/core/thread_pool.h"
#include "cohort/distribute/collective/replica_turns.h"
#include "cohort/distribute/collective/summation.h"

namespace cohort::distribute {
namespace {

// Replicas come at nearly the same time as a rule; waking a thread takes longer than this.
constexpr int kTurnsBeforeSleep = 200;
// A replica may have to compile its step first.
constexpr std::chrono::seconds kLongestMeeting{600};
// Parts below this size are reduced by one replica.
constexpr std::int64_t kSmallestShare = 256;
// Of a share that is worth a thread.
constexpr std::int64_t kElementsOfBlock = 16 << 10;

void clear_sum(const Collective::Part& part, void* sum) { std::memset(sum, 0, bytes_of_part(part)); }

}  // namespace

// A replica's view of its group.
class ReplicaGroup::Member : public Collective {
 public:
  Member(ReplicaGroup* group, int replica)
      : Collective("replica_" + std::to_string(replica)), group_(group), replica_(replica) {}
  void all_reduce(std::span<const Part> parts, const void* const* inputs, void* const* outputs,
                  Reduction reduction) override {
    group().all_reduce(replica_, parts, inputs, outputs, reduction);
  }
  void gather(std::span<const Part> parts, int replicas, const void* const* inputs, void* const* outputs) override {
    group().gather(replica_, parts, replicas, inputs, outputs);
  }
  bool gathers_rows() const override {
    const ReplicaGroup* group = group_.load(std::memory_order_relaxed);
    return group && group->gathers_rows_;
  }
  bool gather_rows(const Rows& rows, std::int64_t most, UseRows use) override {
    return group().gather_rows(replica_, rows, most, use);
  }
  void start(std::span<const Part> parts, void* const* values, void* stream) override {
    if (!enqueues()) check_host(stream);
    if (!stream) return group().start(replica_, parts, values);
    group().on_device(replica_, [&](DeviceGroup& devices) { devices.start(replica_, parts, values, stream); });
  }
  void wait(void* const* values, void* stream) override {
    if (!enqueues()) check_host(stream);
    if (!stream) return group().wait(replica_, values);
    group().device_groups_.back()->wait(replica_, stream);
  }
  void abandon() noexcept override {
    if (ReplicaGroup* group = group_.load(std::memory_order_relaxed)) group->abandon(replica_);
  }
  bool enqueues() const override {
    const ReplicaGroup* group = group_.load(std::memory_order_relaxed);
    return group && !group->device_groups_.empty();
  }
  void enqueue(std::span<const Part> parts, const void* const* inputs, void* const* outputs, Reduction reduction,
               void* stream) override {
    group().on_device(
        replica_, [&](DeviceGroup& devices) { devices.enqueue(replica_, parts, inputs, outputs, reduction, stream); });
  }
  // Graphs that refer to it may live longer than the group.
  void leave() { group_ = nullptr; }

 private:
  ReplicaGroup& group() const {
    ReplicaGroup* group = group_.load(std::memory_order_relaxed);
    if (!group) throw failed_precondition("Replicas in step", "the strategy of a function must live when it is called");
    return *group;
  }

  std::atomic<ReplicaGroup*> group_;
  const int replica_;
};

ReplicaGroup::ReplicaGroup(int replicas, std::shared_ptr<collective::Communicator> workers, const Options& options)
    : workers_(std::move(workers)),
      reduction_(options.reduction),
      gathers_rows_(options.gathers_rows),
      gathered_rows_(workers_.get()),
      join_devices_(options.join_devices),
      seats_(static_cast<std::size_t>(replicas)) {
  if (join_devices_) device_groups_.push_back(join_devices_());
  if (workers_) {
    packed_ = std::make_unique<PackedReduction>(*workers_);
    queue_ = std::make_unique<ReductionQueue>(replicas, options.has_thread, [this](auto& job) { carry_out(job); });
  }
  for (int replica = 0; replica < replicas; ++replica) members_.push_back(std::make_shared<Member>(this, replica));
}

ReplicaGroup::~ReplicaGroup() {
  for (const std::shared_ptr<Collective>& member : members_) static_cast<Member&>(*member).leave();
}

void ReplicaGroup::abort(const std::string& reason) noexcept {
  std::lock_guard lock(mutex_);
  if (!aborted_) reason_ = reason;
  aborted_ = true;
  ended_.notify_all();
  if (queue_) queue_->abort(reason_);
  if (!device_groups_.empty()) device_groups_.back()->end(Error(ErrorCode::Aborted, "Replicas in step: " + reason));
  if (workers_) workers_->abort(reason);
}

std::string ReplicaGroup::reason_of(int replica, const std::exception_ptr& error) {
  const std::string who = "replica " + std::to_string(replica) + " failed: ";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return who + exception.what();
  } catch (...) {
    return who + "unknown exception";
  }
}

void ReplicaGroup::check() const {
  if (!device_groups_.empty()) device_groups_.back()->check();
}

void ReplicaGroup::reset() {
  std::lock_guard lock(mutex_);
  aborted_ = false;
  reason_.clear();
  arrived_ = 0;
  const std::uint64_t meeting = meeting_;
  for (Seat& seat : seats_) seat.meetings = meeting;
  if (queue_) queue_->reset();
  // With other workers there is no way back.
  if (!join_devices_ || workers_) return;
  try {
    device_groups_.push_back(join_devices_());
  } catch (const Error&) {
    // What ended the last one is what the next reduction throws.
  }
}

void ReplicaGroup::throw_aborted() {
  std::lock_guard lock(mutex_);
  throw Error(ErrorCode::Aborted, "Replicas in step: " + reason_);
}

void ReplicaGroup::all_reduce(int replica, std::span<const Collective::Part> parts, const void* const* inputs,
                              void* const* outputs, Collective::Reduction reduction) {
  if (queue_ && queue_->has_begun(replica)) return reduce_in_queue(replica, parts, inputs, outputs, reduction);
  Seat& seat = seats_[static_cast<std::size_t>(replica)];
  seat.parts = parts, seat.inputs = inputs, seat.outputs = outputs, seat.reduction = reduction, seat.gathers = false;
  meet(replica);
  check_same_parts(replica);
  reduce_share(replica);
  meet(replica);  // nobody changes its inputs, or uses its outputs, before all are done
  if (workers_) reduce_across_workers(replica);
}

void ReplicaGroup::reduce_in_queue(int replica, std::span<const Collective::Part> parts, const void* const* inputs,
                                   void* const* outputs, Collective::Reduction reduction) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (inputs[i] != outputs[i]) std::memcpy(outputs[i], inputs[i], bytes_of_part(parts[i]));
  }
  queue_->wait_for(replica, queue_->start(replica, parts, outputs, reduction));
}

void ReplicaGroup::wait_for_begun(int replica) {
  if (queue_ && queue_->has_begun(replica)) queue_->wait_for(replica, queue_->start(replica, {}, nullptr));
}

void ReplicaGroup::gather(int replica, std::span<const Collective::Part> parts, int replicas, const void* const* inputs,
                          void* const* outputs) {
  if (replicas > size()) {
    throw invalid_argument("Replicas in step", "values of replicas that are there are expected",
                           {{"replicas", replicas}, {"there", size()}});
  }
  wait_for_begun(replica);
  Seat& seat = seats_[static_cast<std::size_t>(replica)];
  seat.parts = parts, seat.inputs = inputs, seat.gathers = true;
  meet(replica);
  const bool same = all_gather_the_same();
  for (std::size_t part = 0; same && part < parts.size(); ++part) {
    const std::size_t bytes = bytes_of_part(parts[part]);
    for (int from = 0; from < replicas; ++from, ++outputs) {
      if (bytes > 0) std::memcpy(*outputs, seats_[static_cast<std::size_t>(from)].inputs[part], bytes);
    }
  }
  meet(replica);  // nobody changes its values before all have them
  if (same) return;
  throw invalid_argument("ReplicaContext.merge_call",
                         "in a function and in a model's step every replica must bring values of the same shapes",
                         {{"replica", replica}}, "Bring what a batch of any size makes: sums and means, not rows.");
}

bool ReplicaGroup::gather_rows(int replica, const Collective::Rows& rows, std::int64_t most, Collective::UseRows use) {
  wait_for_begun(replica);
  seats_[static_cast<std::size_t>(replica)].rows = rows;
  meet(replica);
  check_same_rows(replica);
  if (replica == 0) gather_brought_rows(most);
  meet(replica);
  const bool few = rows_are_few_;
  if (few) use(gathered_rows_.all());
  meet(replica);  // nobody changes its rows before all have used them
  return few;
}

void ReplicaGroup::gather_brought_rows(std::int64_t most) {
  brought_rows_.clear();
  for (const Seat& seat : seats_) {
    if (!seat.silent) brought_rows_.push_back(seat.rows);
  }
  const ReplicaPause pause;
  rows_are_few_ = gathered_rows_.gather(seats_[0].rows, brought_rows_, most);
}

// Replicas of one process have nothing to gain: what they would compute meanwhile needs the cores that add.
void ReplicaGroup::start(int replica, std::span<const Collective::Part> parts, void* const* values) {
  if (!queue_) return all_reduce(replica, parts, values, values, Collective::Reduction::Sum);
  queue_->start(replica, parts, values);
}

void ReplicaGroup::wait(int replica, void* const* values) {
  if (queue_) queue_->wait(replica, values);
}

void ReplicaGroup::abandon(int replica) noexcept {
  if (!device_groups_.empty()) {
    if (device_groups_.back()->has_begun(replica)) abort(reason_of(replica, std::current_exception()));
    device_groups_.back()->abandon(replica);
  }
  if (!queue_ || !queue_->has_begun(replica)) return;
  abort(reason_of(replica, std::current_exception()));
  queue_->abandon(replica);
}

void ReplicaGroup::carry_out(ReductionQueue::Job& job) {
  std::vector<const void*>& inputs = seats_[0].all_inputs;
  for (std::size_t part = 0; part < job.parts.size(); ++part) {
    if (job.reduction == Collective::Reduction::First) break;
    if (all_silent()) {
      clear_sum(job.parts[part], job.values[0][part]);
      continue;
    }
    if (size() == 1) break;
    inputs.clear();
    for (std::size_t i = 0; i < job.values.size(); ++i) {
      if (!seats_[i].silent) inputs.push_back(job.values[i][part]);
    }
    sum_range(job.parts[part].dtype, inputs, {&job.values[0][part], 1}, 0, job.parts[part].elements);
  }
  packed_->reduce(job.parts, job.values[0].data(), job.reduction);
  for (std::size_t i = 1; i < job.values.size(); ++i) {
    for (std::size_t part = 0; part < job.parts.size(); ++part) {
      std::memcpy(job.values[i][part], job.values[0][part], bytes_of_part(job.parts[part]));
    }
  }
}

// In turns, whoever waits for its device next would keep the others from putting their part into theirs.
void ReplicaGroup::on_device(int replica, const std::function<void(DeviceGroup& group)>& enqueue) {
  DeviceGroup& group = *device_groups_.back();
  if (!ReplicaTurn::taken()) return enqueue(group);
  {
    const ReplicaPause others_come;
    enqueue(group);
  }
  meet(replica);
}

void ReplicaGroup::reduce_across_workers(int replica) {
  const Seat& first = seats_[0];
  const Seat& own = seats_[static_cast<std::size_t>(replica)];
  if (replica == 0) {
    const ReplicaPause pause;
    packed_->reduce(first.parts, first.outputs, first.reduction);
  }
  if (size() == 1) return;
  meet(replica);
  for (std::size_t i = 0; replica > 0 && i < own.parts.size(); ++i) {
    std::memcpy(own.outputs[i], first.outputs[i], bytes_of_part(own.parts[i]));
  }
  meet(replica);
}

void ReplicaGroup::meet(int replica) {
  const std::uint64_t meeting = meeting_.load(std::memory_order_acquire);
  seats_[static_cast<std::size_t>(replica)].meetings.store(meeting + 1, std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < size()) return wait_for_others(meeting);
  arrived_.store(0, std::memory_order_relaxed);
  meeting_.store(meeting + 1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard lock(mutex_);
  ended_.notify_all();
}

void ReplicaGroup::wait_for_others(std::uint64_t meeting) {
  const auto over = [&] { return meeting_.load(std::memory_order_seq_cst) != meeting; };
  for (int turn = 0; turn < kTurnsBeforeSleep && !ReplicaTurn::taken(); ++turn) {
    if (over()) return;
    if (aborted_) throw_aborted();
    std::this_thread::yield();
  }
  const ReplicaPause pause;
  std::unique_lock lock(mutex_);
  ++sleepers_;
  const bool ended = ended_.wait_for(lock, kLongestMeeting, [&] { return over() || aborted_; });
  --sleepers_;
  if (over()) return;
  lock.unlock();
  if (ended) throw_aborted();
  throw Error(ErrorCode::DeadlineExceeded, "Replicas in step", "every replica must come to the same reduction",
              {{"missing", missing_replicas(meeting)}, {"seconds", kLongestMeeting.count()}});
}

std::string ReplicaGroup::missing_replicas(std::uint64_t meeting) const {
  std::string missing;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].meetings.load(std::memory_order_relaxed) > meeting) continue;
    missing += (missing.empty() ? "replica " : ", ") + std::to_string(i);
  }
  return missing;
}

bool ReplicaGroup::all_silent() const {
  return std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.silent; });
}

bool ReplicaGroup::has_parts_of_first(int replica) const {
  const Seat &own = seats_[static_cast<std::size_t>(replica)], &first = seats_[0];
  return own.gathers == first.gathers &&
         std::equal(own.parts.begin(), own.parts.end(), first.parts.begin(), first.parts.end(),
                    [](const Collective::Part& a, const Collective::Part& b) {
                      return a.dtype == b.dtype && a.elements == b.elements;
                    });
}

bool ReplicaGroup::all_gather_the_same() const {
  bool same = true;
  for (int replica = 0; replica < size(); ++replica) same = same && has_parts_of_first(replica);
  return same;
}

void ReplicaGroup::check_same_parts(int replica) const {
  const Seat &own = seats_[static_cast<std::size_t>(replica)], &first = seats_[0];
  if (has_parts_of_first(replica) && own.reduction == first.reduction) return;
  throw internal_error(
      "Replicas in step", "all replicas must reduce the same values",
      {{"replica", replica}, {"values", own.parts.size()}, {"values of replica 0", first.parts.size()}});
}

void ReplicaGroup::check_same_rows(int replica) const {
  const Collective::Rows &own = seats_[static_cast<std::size_t>(replica)].rows, &first = seats_[0].rows;
  if (own.dtype == first.dtype && own.index_dtype == first.index_dtype && own.elements == first.elements) return;
  throw internal_error("Replicas in step", "all replicas must bring rows of the same table",
                       {{"replica", replica}, {"elements", own.elements}, {"elements of replica 0", first.elements}});
}

void ReplicaGroup::reduce_share(int replica) {
  const std::span<const Collective::Part> parts = seats_[0].parts;
  const bool first_only = seats_[0].reduction == Collective::Reduction::First;
  std::vector<const void*>& inputs = seats_[static_cast<std::size_t>(replica)].all_inputs;
  std::vector<void*>& outputs = seats_[static_cast<std::size_t>(replica)].all_outputs;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::int64_t elements = parts[part].elements, replicas = size();
    std::int64_t first = elements * replica / replicas, last = elements * (replica + 1) / replicas;
    if (elements < kSmallestShare * replicas) {
      const bool own = static_cast<std::int64_t>(part) % replicas == replica;
      first = 0, last = own ? elements : 0;
    }
    if (!first_only && all_silent()) {
      clear_sum(parts[part], seats_[static_cast<std::size_t>(replica)].outputs[part]);
      continue;
    }
    if (first == last && !reduction_) continue;
    inputs.clear(), outputs.clear();
    for (const Seat& seat : seats_) {
      const bool counts = first_only ? inputs.empty() : !seat.silent;
      if (counts) inputs.push_back(seat.inputs[part]);
      outputs.push_back(seat.outputs[part]);
    }
    if (reduction_) {
      reduction_->reduce(replica, parts[part].dtype, elements, inputs, outputs);
      continue;
    }
    parallel_for(last - first, kElementsOfBlock, [&](std::int64_t begin, std::int64_t end) {
      sum_range(parts[part].dtype, inputs, outputs, first + begin, first + end);
    });
  }
}

}  // namespace cohort::distribute
