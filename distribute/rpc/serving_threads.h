#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cohort/distribute/rpc/unseen_by_thread_sanitizer.h"

namespace cohort::distribute::rpc {

class ServingThreads;

// A right to wait for events, held by one thread at a time and by it also while it deals with an event.
class Turn {
 public:
  // To be called before work that may take long: another thread waits for events from now on.
  void end();
  // To be called before work that is most likely short: no other thread is woken, and when the work is done the turn
  // goes on. Should it take long after all, another thread gets the turn meanwhile; see ServingThreads::relieve.
  void lend();

 private:
  friend class ServingThreads;
  // While the turn is lent: when, and which time it was. Whoever sets it back to 0 has the turn.
  struct Place {
    std::atomic<std::uint64_t> lent = 0;
    std::uint32_t times = 0;  // of whoever has the turn
  };
  Turn(ServingThreads& threads, Place& place) : threads_(threads), place_(place) {}
  void take_back();

  ServingThreads& threads_;
  Place& place_;
  std::uint64_t lent_ = 0;
  bool mine_ = true;
};

// The tag of an operation on a completion queue.
class QueueEvent {
 public:
  virtual ~QueueEvent() = default;
  // The tag as the call takes it that begins the operation: it lasts as long as that call.
  class Tag {
   public:
    operator void*() const { return event_; }

   private:
    friend class QueueEvent;
    explicit Tag(QueueEvent* event) : event_(event) {}
    QueueEvent* const event_;
    const UnseenByThreadSanitizer unseen_;
  };
  // The operation is about to begin; from then on its owner belongs to whoever gets the event.
  Tag begin() {
    begun_.store(true, std::memory_order_release);
    return Tag(this);
  }

 private:
  friend class ServingThreads;
  virtual void happened(bool ok, Turn& turn) = 0;
  std::atomic<bool> begun_ = false;
};

// Threads that serve a completion queue whose tags are QueueEvents. Those whose turn it is wait for events and deal
// with them themselves: a short request is answered by the thread that the network has woken, without waking another.
// As many threads are made as work at once, up to a limit. Thread-safe.
class ServingThreads {
 public:
  // `turns` threads wait for events at once.
  ServingThreads(grpc::CompletionQueue& queue, int turns, int most_threads);
  // Waits until the queue, which somebody must have shut down, is empty.
  ~ServingThreads();

  // To be called now and then, by one thread: turns that have been lent since the call before the last one go to other
  // threads, and for a while turns are ended instead of lent.
  void relieve();

 private:
  friend class Turn;
  void start();
  void serve();
  bool next_event(void*& tag, bool& ok);
  void end_turn(Turn::Place& place);

  grpc::CompletionQueue& queue_;
  const std::size_t turns_, most_threads_;
  const std::unique_ptr<Turn::Place[]> places_;
  std::atomic<std::uint32_t> calls_ = 1, lend_from_ = 0;  // calls of relieve(); turns are not lent before that one
  std::uint32_t without_lending_ = 1, last_relief_ = 0;   // of relieve()

  std::mutex mutex_;  // guards what follows
  std::condition_variable turn_is_free_;
  std::vector<Turn::Place*> free_;
  bool ended_ = false;
  int idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace cohort::distribute::rpc
