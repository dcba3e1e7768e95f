#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/data/iterator.h"
#include "cohort/data/stage_stats.h"

namespace cohort {

// What one stage of an iterator counts. Written by the thread that walks the iterator, read by any.
class StageCounters {
 public:
  // `passing`: of an input that is walked beside others and makes room for the next.
  StageCounters(const std::string& kind, bool passing) : kind_(kind), passing_(passing), stage_(kind) {}

  // Counters for an iterator that is made now: an input of the stage that is being made or walked on this thread, or
  // the end of a chain where there is none.
  static std::shared_ptr<StageCounters> make(const std::string& kind);
  // The counters of the stage that this thread makes or walks; nullptr outside of all.
  static StageCounters* current();

  // Stands on a thread that makes an iterator, so that those made meanwhile are its inputs.
  class Making {
   public:
    explicit Making(StageCounters& stage);
    ~Making();
    Making(const Making&) = delete;

   private:
    StageCounters* outer_;
  };

  // Stands around one call of an iterator.
  class Call {
   public:
    explicit Call(StageCounters& stage);
    ~Call();
    Call(const Call&) = delete;
    // The call has given that many elements, and no error.
    void gave(std::uint64_t elements, std::uint64_t bytes = 0);
    // The call has given an element.
    void gave(const Tensors& element);

   private:
    void measure();

    StageCounters& stage_;
    StageCounters* outer_;
    std::int64_t begin_ = 0, outer_inside_ = 0;
    bool timed_, given_ = false;
  };

  // Time of the call under way on this thread that was spent waiting for an input that another thread reads.
  static void waited_for_input(std::int64_t nanoseconds);
  // Whether the call under way on this thread is one whose waits count.
  static bool is_timed();

  // How many elements the stage computes or keeps ready at a time from now on.
  void set_parallelism(std::size_t elements) { parallelism_.store(elements, std::memory_order_relaxed); }
  // What it is called, when that is known better.
  void set_stage(std::string stage);
  // Whether iterators of inputs were made for it.
  bool has_inputs() const;
  // No iterator uses them any more: one of the same kind may go on with them.
  void release() { in_use_.store(false, std::memory_order_release); }
  // Appends what it and its inputs have counted.
  void collect(DatasetStats& stats, int depth) const;

 private:
  using Count = std::atomic<std::uint64_t>;
  // There is one writer.
  static void add(Count& count, std::uint64_t more) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  bool is_due();
  void choose_interval(std::int64_t nanoseconds, std::uint64_t timed_calls);
  std::shared_ptr<StageCounters> input(const std::string& kind, bool passing);
  StageStats stats(int depth) const;

  const std::string kind_;
  const bool passing_;
  std::atomic<bool> in_use_{true};
  Count elements_{0}, errors_{0}, bytes_{0}, own_{0}, inside_{0}, parallelism_{1};  // times in nanoseconds
  std::atomic<std::int64_t> first_{0}, last_{0};  // when it was asked first, and when it answered last
  // Calls from one that is timed to the next, and how many of them are left.
  std::uint64_t interval_ = 1, until_timed_ = 1;
  mutable std::mutex mutex_;
  // Guarded by it:
  std::string stage_;
  std::vector<std::shared_ptr<StageCounters>> inputs_made_;
};

// An iterator that counts what the given one does; it behaves like it in everything else.
std::unique_ptr<DatasetIterator> measured(std::unique_ptr<DatasetIterator> iterator,
                                          std::shared_ptr<StageCounters> counters);

}  // namespace cohort
