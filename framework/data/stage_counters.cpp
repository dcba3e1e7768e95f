#include "cohort/data/stage_counters.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <utility>

#include "cohort/data/row_stream.h"

namespace cohort {
namespace {

// Looking at the clock twice and counting costs about this much.
constexpr std::uint64_t kTimedCall = 60;
// That much of the time may go into it: one part of a hundred.
constexpr std::uint64_t kPartsOfTime = 100;
constexpr std::uint64_t kMostBetween = 1024;

// What this thread is about. A call that lies in no other one decides whether it is timed; those inside of it are timed
// with it, so that what they take can be told apart.
struct MeasuredThread {
  StageCounters* stage = nullptr;
  std::uint32_t calls = 0;        // one in another
  bool timed = false;             // the outermost one is
  std::uint64_t weight = 1;       // how many it stands for
  std::uint64_t timed_calls = 0;  // since the outermost one began
  std::int64_t inside = 0;        // nanoseconds of the inputs of the one under way
};
constinit thread_local MeasuredThread measured_thread;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Adds figures of stages to those of stages like them, line by line; false where they are others.
bool add_lines(std::span<StageStats> to, std::span<const StageStats> from) {
  const auto alike = [](const StageStats& a, const StageStats& b) { return a.stage == b.stage && a.depth == b.depth; };
  if (to.size() < from.size() || !std::equal(from.begin(), from.end(), to.begin(), alike)) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].elements += from[i].elements;
    to[i].elements_per_second += from[i].elements_per_second;
    to[i].bytes += from[i].bytes;
    to[i].own_seconds += from[i].own_seconds;
    to[i].seconds_waiting_for_input += from[i].seconds_waiting_for_input;
    to[i].seconds_waiting_for_consumer += from[i].seconds_waiting_for_consumer;
    to[i].parallelism += from[i].parallelism;
    to[i].errors += from[i].errors;
  }
  return true;
}

}  // namespace

StageCounters* StageCounters::current() { return measured_thread.stage; }

std::shared_ptr<StageCounters> StageCounters::make(const std::string& kind) {
  if (StageCounters* outer = current()) return outer->input(kind, measured_thread.calls > 0);
  return std::make_shared<StageCounters>(kind, false);
}

// A stage that makes iterators as it goes uses the counters of those that are gone.
std::shared_ptr<StageCounters> StageCounters::input(const std::string& kind, bool passing) {
  std::lock_guard lock(mutex_);
  for (const auto& each : inputs_made_) {
    if (each->kind_ == kind && !each->in_use_.exchange(true, std::memory_order_acquire)) return each;
  }
  return inputs_made_.emplace_back(std::make_shared<StageCounters>(kind, passing));
}

void StageCounters::set_stage(std::string stage) {
  std::lock_guard lock(mutex_);
  stage_ = std::move(stage);
}

bool StageCounters::has_inputs() const {
  std::lock_guard lock(mutex_);
  return !inputs_made_.empty();
}

StageCounters::Making::Making(StageCounters& stage) : outer_(measured_thread.stage) { measured_thread.stage = &stage; }
StageCounters::Making::~Making() { measured_thread.stage = outer_; }

bool StageCounters::is_due() { return --until_timed_ == 0; }

// Grows slowly: the first elements are often the slowest, and should not stand for many.
void StageCounters::choose_interval(std::int64_t nanoseconds, std::uint64_t timed_calls) {
  const std::uint64_t wanted =
      timed_calls * kTimedCall * kPartsOfTime / std::max<std::uint64_t>(static_cast<std::uint64_t>(nanoseconds), 1);
  until_timed_ = interval_ = std::clamp<std::uint64_t>(wanted, 1, std::min(2 * interval_, kMostBetween));
}

StageCounters::Call::Call(StageCounters& stage) : stage_(stage) {
  MeasuredThread& thread = measured_thread;
  outer_ = std::exchange(thread.stage, &stage);
  if (thread.calls++ == 0) {
    thread.timed = stage.is_due();
    thread.weight = stage.interval_;
    thread.timed_calls = 0;
  }
  timed_ = thread.timed;
  if (!timed_) return;
  ++thread.timed_calls;
  outer_inside_ = std::exchange(thread.inside, 0);
  begin_ = now();
}

StageCounters::Call::~Call() {
  if (!given_) add(stage_.errors_, 1);
  MeasuredThread& thread = measured_thread;
  --thread.calls;
  thread.stage = outer_;
  if (timed_) measure();
}

void StageCounters::Call::measure() {
  MeasuredThread& thread = measured_thread;
  const std::int64_t end = now(), took = end - begin_, inside = std::min(thread.inside, took);
  add(stage_.own_, static_cast<std::uint64_t>(took - inside) * thread.weight);
  add(stage_.inside_, static_cast<std::uint64_t>(inside) * thread.weight);
  if (stage_.first_.load(std::memory_order_relaxed) == 0) stage_.first_.store(begin_, std::memory_order_relaxed);
  stage_.last_.store(end, std::memory_order_relaxed);
  thread.inside = outer_inside_ + took;
  if (thread.calls == 0) stage_.choose_interval(took, thread.timed_calls);
}

void StageCounters::Call::gave(std::uint64_t elements, std::uint64_t bytes) {
  given_ = true;
  if (elements > 0) add(stage_.elements_, elements);
  if (timed_ && bytes > 0) add(stage_.bytes_, bytes * measured_thread.weight);
}

void StageCounters::Call::gave(const Tensors& element) {
  std::uint64_t bytes = 0;
  if (timed_) {
    for (const Tensor& leaf : element) bytes += leaf.bytes();
  }
  gave(1, bytes);
}

bool StageCounters::is_timed() { return measured_thread.calls > 0 && measured_thread.timed; }
void StageCounters::waited_for_input(std::int64_t nanoseconds) { measured_thread.inside += nanoseconds; }

StageStats StageCounters::stats(int depth) const {
  constexpr double kSecond = 1e-9;
  const auto seconds = [](const Count& count) {
    return static_cast<double>(count.load(std::memory_order_relaxed)) * kSecond;
  };
  StageStats stats;
  stats.stage = stage_;
  stats.depth = depth;
  stats.elements = elements_.load(std::memory_order_relaxed);
  stats.errors = errors_.load(std::memory_order_relaxed);
  stats.bytes = static_cast<double>(bytes_.load(std::memory_order_relaxed));
  stats.parallelism = parallelism_.load(std::memory_order_relaxed);
  stats.own_seconds = seconds(own_);
  stats.seconds_waiting_for_input = seconds(inside_);
  const double all =
      static_cast<double>(last_.load(std::memory_order_relaxed) - first_.load(std::memory_order_relaxed)) * kSecond;
  stats.seconds_waiting_for_consumer = std::max(0.0, all - stats.own_seconds - stats.seconds_waiting_for_input);
  if (all > 0) stats.elements_per_second = static_cast<double>(stats.elements) / all;
  return stats;
}

void StageCounters::collect(DatasetStats& all, int depth) const {
  std::lock_guard lock(mutex_);
  all.push_back(stats(depth));
  // Inputs that are walked beside each other are one line.
  std::map<std::string, std::size_t> lines;
  for (const auto& each : inputs_made_) {
    DatasetStats more;
    each->collect(more, depth + 1);
    const auto [line, is_new] = lines.emplace(each->kind_, all.size());
    if (is_new || !each->passing_ || !add_lines(std::span(all).subspan(line->second), more)) {
      all.insert(all.end(), more.begin(), more.end());
    }
  }
}

namespace {

class MeasuredIterator : public DatasetIterator {
 public:
  MeasuredIterator(std::unique_ptr<DatasetIterator> iterator, std::shared_ptr<StageCounters> counters)
      : counters_(std::move(counters)), iterator_(std::move(iterator)) {}
  ~MeasuredIterator() override { counters_->release(); }

  bool next(Tensors& element) override {
    StageCounters::Call call(*counters_);
    const bool got = iterator_->next(element);
    got ? call.gave(element) : call.gave(0);
    return got;
  }
  std::size_t next_places(std::span<ElementPlace> places) override {
    StageCounters::Call call(*counters_);
    const std::size_t got = iterator_->next_places(places);
    call.gave(got);
    return got;
  }
  std::uint64_t skip(std::uint64_t count) override {
    StageCounters::Call call(*counters_);
    const std::uint64_t passed = iterator_->skip(count);
    call.gave(0);
    return passed;
  }
  void rewind() override {
    StageCounters::Call call(*counters_);
    iterator_->rewind();
    call.gave(0);
  }
  std::optional<ElementKey> key() const override { return iterator_->key(); }
  void save_to(StateWriter& state) const override { iterator_->save_to(state); }
  void restore_from(StateReader& state) override { iterator_->restore_from(state); }
  const IndexedElements* indexed() const override { return iterator_->indexed(); }
  const DatasetIterator& unmeasured() const override { return iterator_->unmeasured(); }
  void collect_stats(DatasetStats& stats) const override { counters_->collect(stats, 0); }

 protected:
  // What the iterator and its threads write to as long as it lives.
  const std::shared_ptr<StageCounters> counters_;
  const std::unique_ptr<DatasetIterator> iterator_;
};

class MeasuredRowStream : public MeasuredIterator, public RowStream {
 public:
  MeasuredRowStream(std::unique_ptr<DatasetIterator> iterator, RowStream& rows, std::shared_ptr<StageCounters> counters)
      : MeasuredIterator(std::move(iterator), std::move(counters)), rows_(rows) {}

  Rows next_rows(std::span<const RowMemory> leaves, std::size_t count) override {
    StageCounters::Call call(*counters_);
    const Rows rows = rows_.next_rows(leaves, count);
    std::uint64_t bytes = 0;
    for (const RowMemory& leaf : leaves) bytes += leaf.row_bytes;
    call.gave(rows.count, bytes * rows.count);
    return rows;
  }

 private:
  RowStream& rows_;
};

}  // namespace

std::unique_ptr<DatasetIterator> measured(std::unique_ptr<DatasetIterator> iterator,
                                          std::shared_ptr<StageCounters> counters) {
  if (auto* rows = dynamic_cast<RowStream*>(iterator.get())) {
    return std::make_unique<MeasuredRowStream>(std::move(iterator), *rows, std::move(counters));
  }
  return std::make_unique<MeasuredIterator>(std::move(iterator), std::move(counters));
}

}  // namespace cohort
