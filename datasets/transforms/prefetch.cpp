#include "cohort/datasets/transforms/prefetch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "cohort/core/scratch.h"
#include "cohort/data/stage_counters.h"
#include "cohort/datasets/transforms/autotune.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

// Handing an element from thread to thread costs a few microseconds of both, so an input that is cheaper than that is
// read by the consumer itself, and a thread of its own reads one that is clearly dearer.
constexpr Nanoseconds kCheap{4'000};
constexpr Nanoseconds kDear{15'000};
// Where the framework chooses: elements kept ready at first, and at most.
constexpr std::int64_t kFirstSize = 2, kMostChosen = 8;
constexpr std::uint64_t kSmallStore = std::uint64_t{4} << 20;  // bytes that are taken without being asked for
constexpr std::int64_t kMaxSize = 1024;                        // more elements in store than this hide nothing any more

// Reads ahead on a thread of its own into a ring of slots that are used again and again. Everything below the mutex is
// guarded by it; the input belongs to the producer unless it is paused.
class PrefetchIterator : public TransformIterator {
 public:
  // `slots` elements are kept ready, at first where `most` is more.
  PrefetchIterator(std::unique_ptr<DatasetIterator> input, std::size_t slots, std::size_t most)
      : TransformIterator(std::move(input)), open_(slots, most), slots_(most) {
    note_parallelism();
  }

  ~PrefetchIterator() override {
    if (!producer_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wanted_.notify_one();
    producer_.join();
  }

  bool next(Tensors& element) override {
    // Started here and not with the iterator: many are made and never read.
    if (!producer_.joinable()) {
      producer_ = std::thread([this] {
        const ComputeThread computing;
        produce();
      });
      ComputeThread::announce();
    }
    std::unique_lock lock(mutex_);
    for (;;) {
      if (held_ > 0) {
        give(element);
        return true;
      }
      if (error_) {
        const std::exception_ptr error = std::exchange(error_, nullptr);
        given_state_.swap(error_state_);
        wanted_.notify_one();
        std::rethrow_exception(error);
      }
      if (ended_) return false;
      if (paused_ && !reading_) return read(element);
      // One that gets ahead and is then found empty has too little in store for elements of such different cost.
      if (std::exchange(was_full_, false) && open_.widen(element_bytes_)) note_parallelism();
      wait_for_producer(lock);
    }
  }

  // What was read ahead goes first; the rest is passed by where it need not be computed.
  std::uint64_t skip(std::uint64_t count) override {
    std::unique_lock lock(mutex_);
    std::uint64_t passed = 0;
    for (; passed < count && held_ > 0; ++passed) give(passed_);
    if (passed == count || (ended_ && !error_)) return passed;
    // Unless the input stands where the consumer does, what it has read beyond is read again.
    const bool is_ahead = !paused_ || reading_ || error_;
    if (error_) {
      given_state_.swap(error_state_);
      ++passed;
    }
    const bool was_paused = empty(lock);
    if (is_ahead) restore_input(given_state_);
    passed += input_->skip(count - passed);
    if (!was_paused) resume();
    return passed;
  }
  std::optional<ElementKey> key() const override { return key_; }

  void rewind() override {
    std::unique_lock lock(mutex_);
    const bool was_paused = empty(lock);
    input_->rewind();
    if (!was_paused) resume();
  }

  void save_to(StateWriter& state) const override {
    std::lock_guard lock(mutex_);
    state.stage('F');
    if (paused_ && !reading_ && held_ == 0 && !error_) {
      input_->save_to(state);
    } else {
      state.raw(given_state_);
    }
  }

  void restore_from(StateReader& state) override {
    std::unique_lock lock(mutex_);
    const bool was_paused = empty(lock);
    state.stage('F');
    input_->restore_from(state);
    if (!was_paused) resume();
  }

 private:
  struct Slot {
    Tensors element;
    std::optional<ElementKey> key;
    std::string state;  // the input's after this element
  };

  void produce() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [this] { return stop_ || !(paused_ || full_ || ended_ || error_); });
      if (stop_) return;
      Slot& slot = slots_[(first_ + held_) % open_.now()];
      reading_ = true;
      lock.unlock();
      bool got = false;
      std::exception_ptr error;
      const Clock::time_point start = Clock::now();
      try {
        got = input_->next(slot.element);
        slot.key = input_->key();
        write_input_state(slot.state);
      } catch (...) {
        error = std::current_exception();
        // The input stands behind the element that it could not give.
        write_input_state(error_state_);
      }
      const Clock::time_point end = Clock::now();
      lock.lock();
      reading_ = false;
      learn(end - start);
      if (error) {
        error_ = error;
      } else if (!got) {
        ended_ = true;
      } else {
        full_ = ++held_ >= open_.now();
        was_full_ = was_full_ || full_;
      }
      if (consumer_waits_) filled_.notify_one();
    }
  }

  void give(Tensors& element) {
    Slot& slot = slots_[first_];
    element.swap(slot.element);
    if (slot.element.empty()) slot.element = room_for(element);
    key_ = slot.key;
    given_state_.swap(slot.state);
    first_ = (first_ + 1) % open_.now();
    --held_;
    if (cost_ < kCheap) paused_ = true;
    // A producer that had to stop is woken for half a ring at once: waking costs more than most elements.
    if (full_ && held_ <= open_.now() / 2) {
      full_ = false;
      if (!paused_) wanted_.notify_one();
    }
  }

  bool read(Tensors& element) {
    const Clock::time_point start = Clock::now();
    if (!input_->next(element)) {
      ended_ = true;
      return false;
    }
    learn(Clock::now() - start);
    key_ = input_->key();
    if (!ready_) make_room(element);
    if (cost_ > kDear) resume();
    return true;
  }

  void learn(Nanoseconds cost) { cost_ += (cost - cost_) / 4; }

  // How far the producer gets ahead is a matter of timing, so every slot has its memory from the first element on.
  void make_room(const Tensors& element) {
    write_input_state(given_state_);
    for (const Tensor& leaf : element) element_bytes_ += leaf.bytes();
    while (2 * open_.now() * element_bytes_ <= kSmallStore && open_.widen(element_bytes_)) note_parallelism();
    for (Slot& slot : std::span(slots_).first(open_.now())) {
      slot.element = room_for(element);
      write_input_state(slot.state);
    }
    ready_ = true;
  }

  void resume() {
    write_input_state(given_state_);
    paused_ = false;
    wanted_.notify_one();
  }

  // Takes the input from the producer and forgets what was read ahead; whether the producer was paused before.
  bool empty(std::unique_lock<std::mutex>& lock) {
    const bool was_paused = std::exchange(paused_, true);
    while (reading_) wait_for_producer(lock);
    first_ = held_ = 0;
    full_ = ended_ = false;
    error_ = nullptr;
    return was_paused;
  }

  void wait_for_producer(std::unique_lock<std::mutex>& lock) {
    const bool timed = StageCounters::is_timed();
    const Clock::time_point begin = timed ? Clock::now() : Clock::time_point();
    consumer_waits_ = true;
    filled_.wait(lock);
    consumer_waits_ = false;
    if (timed) StageCounters::waited_for_input(std::chrono::nanoseconds(Clock::now() - begin).count());
  }

  void note_parallelism() const {
    if (StageCounters* counters = StageCounters::current()) counters->set_parallelism(open_.now());
  }

  std::thread producer_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_, filled_;
  // The ring is as many of the slots. It grows while it is empty, so that the one being filled stays where it is.
  AutotunedWidth open_;
  std::vector<Slot> slots_;
  std::uint64_t element_bytes_ = 0;
  std::size_t first_ = 0, held_ = 0;
  std::string given_state_;        // the input's after the element given out last
  std::string error_state_;        // the input's after the element that failed
  std::optional<ElementKey> key_;  // of the element given out last
  Nanoseconds cost_{0};            // of one element, a running mean
  std::exception_ptr error_;
  bool paused_ = true, reading_ = false, full_ = false, ended_ = false, stop_ = false, consumer_waits_ = false;
  bool ready_ = false;     // the slots have memory
  bool was_full_ = false;  // since the consumer waited last
  Tensors passed_;
};

class PrefetchStage : public TransformStage {
 public:
  PrefetchStage(const std::vector<Dataset>& inputs, std::int64_t buffer_size)
      : TransformStage("Dataset.prefetch", inputs), buffer_size_(buffer_size) {
    if (buffer_size < kAutotune) {
      throw invalid_argument("Dataset.prefetch", "the number of elements to keep ready, or kAutotune, is expected",
                             {{"buffer_size", buffer_size}});
    }
  }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (buffer_size_ == 0) return input().make_iterator();
    std::int64_t most = buffer_size_ == kAutotune ? kMostChosen : std::min(buffer_size_, kMaxSize);
    if (const std::int64_t available = cardinality(); available > 0) most = std::min(most, available);
    const std::int64_t slots = buffer_size_ == kAutotune ? std::min(most, kFirstSize) : most;
    return std::make_unique<PrefetchIterator>(input().make_iterator(), static_cast<std::size_t>(slots),
                                              static_cast<std::size_t>(most));
  }

 private:
  std::int64_t buffer_size_;
};

COHORT_DATASET("prefetch", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<PrefetchStage>(inputs, attributes.get<std::int64_t>("buffer_size"));
});

}  // namespace

DatasetTransform prefetch(std::int64_t buffer_size) {
  return make_transform("prefetch", {{"buffer_size", buffer_size}});
}

}  // namespace cohort::datasets
