#include "cohort/distribute/collective/reduction_queue.h"

#include <algorithm>
#include <chrono>

#include "cohort/core/error.h"
#include "cohort/distribute/collective/packed_reduction.h"
#include "cohort/distribute/collective/replica_turns.h"

namespace cohort::distribute {
namespace {

// A replica may have to compile its step first.
constexpr std::chrono::seconds kLongestWaitInQueue{600};
// Smaller ones are done sooner than a thread is woken up.
constexpr std::size_t kWorthAThread = 64 << 10;
constexpr const char* kLaneOfWorkers = "workers in step";

std::size_t bytes_of_job(const ReductionQueue::Job& job) {
  std::size_t bytes = 0;
  for (const Collective::Part& part : job.parts) bytes += bytes_of_part(part);
  return bytes;
}

bool same_parts(std::span<const Collective::Part> a, std::span<const Collective::Part> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.dtype == y.dtype && x.elements == y.elements; });
}

}  // namespace

ReductionQueue::ReductionQueue(int replicas, bool has_thread, CarryOut carry_out)
    : replicas_(replicas), carry_out_(std::move(carry_out)), seats_(static_cast<std::size_t>(replicas)) {
  if (has_thread) thread_ = std::thread([this] { serve(); });
}

ReductionQueue::~ReductionQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Numbers are used again when all replicas have waited for them.
ReductionQueue::Job& ReductionQueue::job_to_begin(std::uint64_t number) {
  std::uint64_t oldest = next_;
  for (const Seat& seat : seats_) oldest = std::min(oldest, seat.waited);
  if (number - oldest >= jobs_.size()) {
    std::vector<std::unique_ptr<Job>> more(std::max<std::size_t>(8, 2 * jobs_.size()));
    for (std::uint64_t known = oldest; known < number; ++known)
      more[known % more.size()] = std::move(jobs_[known % jobs_.size()]);
    for (std::unique_ptr<Job>& each : more) {
      if (!each) each = std::make_unique<Job>();
    }
    jobs_ = std::move(more);
  }
  return job(number);
}

std::uint64_t ReductionQueue::start(int replica, std::span<const Collective::Part> parts, void* const* values,
                                    Collective::Reduction reduction) {
  const auto seat = static_cast<std::size_t>(replica);
  Lock lock(mutex_);
  throw_if_aborted();
  const std::uint64_t number = seats_[seat].begun;
  Job& own = job_to_begin(number);
  const bool first = std::all_of(seats_.begin(), seats_.end(), [&](const Seat& each) { return each.begun <= number; });
  if (first) {
    own.parts.assign(parts.begin(), parts.end());
    own.values.resize(seats_.size());
    own.waited.assign(seats_.size(), false);
    own.reduction = reduction, own.begun = 0, own.done = false, own.error = nullptr, own.lane = nullptr;
  } else if (!same_parts(own.parts, parts) || own.reduction != reduction) {
    throw internal_error("Replicas in step", "all replicas must reduce the same values",
                         {{"replica", replica}, {"values", parts.size()}, {"values of another", own.parts.size()}});
  }
  own.values[seat].assign(values, values + parts.size());
  if (Timeline* timeline = replica == 0 ? Timeline::current() : nullptr) {
    own.lane = timeline->lane(kLaneOfWorkers, [] {});  // all has been waited for by then
  }
  ++seats_[seat].begun;
  if (++own.begun < replicas_) return number;
  if (thread_.joinable() && !carrying_ && bytes_of_job(own) >= kWorthAThread) work_.notify_one();
  if (sleepers_ > 0) changed_.notify_all();
  return number;
}

bool ReductionQueue::is_ready() {
  if (carrying_ || aborted_ || jobs_.empty()) return false;
  return std::all_of(seats_.begin(), seats_.end(), [&](const Seat& seat) { return seat.begun > next_; });
}

void ReductionQueue::carry_next(Lock& lock) {
  Job& next = job(next_++);
  carrying_ = true;
  lock.unlock();
  const Timeline::Clock::time_point begin = next.lane ? Timeline::Clock::now() : Timeline::Clock::time_point();
  std::exception_ptr error;
  std::string failure;
  try {
    carry_out_(next);
  } catch (const std::exception& exception) {
    failure = exception.what();
    error = std::current_exception();
  }
  if (next.lane) {
    next.lane->add(Timeline::Span{.category = "collective",
                                  .name = "all-reduce of " + std::to_string(bytes_of_job(next)) + " bytes",
                                  .begin = begin,
                                  .end = Timeline::Clock::now()});
  }
  lock.lock();
  next.error = error;
  next.failure = std::move(failure);
  next.done = true;
  carrying_ = false;
  if (sleepers_ > 0) changed_.notify_all();
}

void ReductionQueue::serve() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (is_ready()) {
      carry_next(lock);
    } else {
      work_.wait(lock);
    }
  }
}

void ReductionQueue::wait_for(int replica, std::uint64_t number) {
  const ReplicaPause pause;
  const auto deadline = std::chrono::steady_clock::now() + kLongestWaitInQueue;
  Lock lock(mutex_);
  for (;;) {
    throw_if_aborted();
    if (job(number).done) break;
    if (replica == 0 && is_ready()) {
      carry_next(lock);
      continue;
    }
    ++sleepers_;
    const std::cv_status status = changed_.wait_until(lock, deadline);
    --sleepers_;
    if (status == std::cv_status::no_timeout || job(number).done || aborted_) continue;
    // What is carried out has a deadline of its own.
    if (carrying_) continue;
    throw Error(ErrorCode::DeadlineExceeded, "Replicas in step", "every replica must come to the same reduction",
                {{"missing", missing(number)}, {"seconds", kLongestWaitInQueue.count()}});
  }
  const std::exception_ptr error = job(number).error;
  const std::string failure = error ? job(number).failure : std::string();
  settle(replica, number);
  if (!error) return;
  // One replica throws it; the others say why they end.
  if (replica == 0) std::rethrow_exception(error);
  throw Error(ErrorCode::Aborted, "Replicas in step: " + failure);
}

void ReductionQueue::wait(int replica, const void* const* values) {
  std::uint64_t number = 0;
  {
    const auto seat = static_cast<std::size_t>(replica);
    std::lock_guard lock(mutex_);
    number = seats_[seat].waited;
    const bool begun = number < seats_[seat].begun;
    if (!begun || (!job(number).parts.empty() && job(number).values[seat][0] != values[0])) {
      throw internal_error("Replicas in step", "reductions are waited for in the order in which they were begun");
    }
  }
  wait_for(replica, number);
}

// Waits for single ones leave those before them open.
void ReductionQueue::settle(int replica, std::uint64_t number) {
  const auto seat = static_cast<std::size_t>(replica);
  job(number).waited[seat] = true;
  std::uint64_t& waited = seats_[seat].waited;
  while (waited < seats_[seat].begun && job(waited).waited[seat]) ++waited;
}

bool ReductionQueue::has_begun(int replica) const {
  std::lock_guard lock(mutex_);
  const Seat& seat = seats_[static_cast<std::size_t>(replica)];
  return seat.waited < seat.begun;
}

void ReductionQueue::abort(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (!aborted_) aborted_ = reason;
  changed_.notify_all();
}

void ReductionQueue::throw_if_aborted() const {
  if (aborted_) throw Error(ErrorCode::Aborted, "Replicas in step: " + *aborted_);
}

void ReductionQueue::abandon(int replica) noexcept {
  Lock lock(mutex_);
  ++sleepers_;
  changed_.wait(lock, [&] { return !carrying_; });
  --sleepers_;
  seats_[static_cast<std::size_t>(replica)].waited = seats_[static_cast<std::size_t>(replica)].begun;
}

void ReductionQueue::reset() {
  std::lock_guard lock(mutex_);
  aborted_.reset();
  seats_.assign(seats_.size(), Seat{});
  next_ = 0;
}

std::string ReductionQueue::missing(std::uint64_t number) const {
  std::string text;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].begun > number) continue;
    text += (text.empty() ? "replica " : ", ") + std::to_string(i);
  }
  return text;
}

}  // namespace cohort::distribute
