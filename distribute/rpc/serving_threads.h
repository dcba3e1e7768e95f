#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort::distribute::rpc {

class ServingThreads;

// The right to wait for events, held by one thread at a time and by it also while it deals with an event.
class Turn {
 public:
  // To be called before work that takes long: another thread waits for events from now on.
  void end();

 private:
  friend class ServingThreads;
  explicit Turn(ServingThreads& threads) : threads_(threads) {}
  ServingThreads& threads_;
  bool mine_ = true;
};

// The tag of an operation on a completion queue.
class QueueEvent {
 public:
  virtual ~QueueEvent() = default;
  // The operation is about to begin; from then on its owner belongs to whoever gets the event.
  QueueEvent* begin() {
    begun_.store(true, std::memory_order_release);
    return this;
  }

 private:
  friend class ServingThreads;
  virtual void happened(bool ok, Turn& turn) = 0;
  std::atomic<bool> begun_ = false;
};

// Threads that serve a completion queue whose tags are QueueEvents. The one whose turn it is waits for an event and
// deals with it itself: a short request is answered by the thread that the network has woken, without waking another.
// As many threads are made as work at once. Thread-safe.
class ServingThreads {
 public:
  explicit ServingThreads(grpc::CompletionQueue& queue);
  // Waits until the queue, which somebody must have shut down, is empty.
  ~ServingThreads();

 private:
  friend class Turn;
  void start();
  void serve();
  void end_turn();

  grpc::CompletionQueue& queue_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable turn_is_free_;
  bool taken_ = false, ended_ = false;
  int idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace cohort::distribute::rpc
