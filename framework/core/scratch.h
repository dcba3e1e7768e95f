#pragma once

#include <cstddef>
#include <cstdint>

namespace cohort {

// Working memory of kernels, one object of static storage for each purpose. Every thread that computes has a block of
// its own; blocks for all of them are made together, so that a thread which happens to join in late finds its block
// ready. Thread-safe.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;

  // Aligned memory of the calling thread, until it calls again.
  void* bytes(std::size_t count);
  template <class T>
  T* get(std::int64_t count) {
    return static_cast<T*>(bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }

 private:
  struct State;
  friend class ComputeThread;
  int index_;
  State* state_;  // never destroyed: work may still run while the statics of the process go down
};

// Stands on a thread that computes, as long as it does. Whoever starts the thread announces it, so that its share of
// scratch memory is there before the thread runs for the first time.
class ComputeThread {
 public:
  static void announce(int threads = 1);
  // For threads that nobody announced: the calling one counts until it ends.
  static void join();

  // On a thread that was or will be announced; it no longer counts when this ends.
  ComputeThread();
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
};

}  // namespace cohort
