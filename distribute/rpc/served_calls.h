#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "cohort/distribute/rpc/doorkeeper.h"
#include "cohort/distribute/rpc/front_door.h"
#include "cohort/distribute/rpc/message_memory.h"
#include "cohort/distribute/rpc/serving_threads.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// Counts a request from its arrival until its answer is on its way, or there is none.
class UnansweredRequest {
 public:
  explicit UnansweredRequest(std::atomic<int>& count) : count_(count) { ++count_; }
  ~UnansweredRequest() { --count_; }
  UnansweredRequest(const UnansweredRequest&) = delete;

 private:
  std::atomic<int>& count_;
};

// The streams that come in on a completion queue, each an object of its own that ends itself. Thread-safe.
class ServedCalls {
 public:
  // The generic service is part of a server that was built with this queue.
  ServedCalls(grpc::AsyncGenericService& generic, grpc::ServerCompletionQueue& queue, Service& service,
              const ServingLimits& limits, Doorkeeper doorkeeper, FrontDoor& door);
  // Lets callers come from now on.
  void accept();
  // Returns when every request is answered, or at that time.
  void await_answers(std::chrono::steady_clock::time_point until) const;
  // Streams answer nothing any more and end.
  void stop();
  // To be called when the server has been shut down: returns when the last stream has ended.
  void wait_for_all();

  bool is_stopping() const { return stopping_; }
  Service& service() { return service_; }
  grpc::ServerCompletionQueue& queue() { return queue_; }
  const ServingLimits& limits() const { return limits_; }
  MessageMemory& memory() { return memory_; }
  Doorkeeper& doorkeeper() { return doorkeeper_; }
  FrontDoor& door() { return door_; }
  // How many there are.
  std::atomic<int>& streams() { return streams_; }
  std::atomic<int>& carried_streams() { return carried_streams_; }
  std::atomic<int>& requests() { return requests_; }

  // Every call, from its arrival to its end, is counted between these two.
  void enter();
  void leave();

 private:
  grpc::AsyncGenericService& generic_;
  grpc::ServerCompletionQueue& queue_;
  Service& service_;
  const ServingLimits limits_;
  MessageMemory memory_;
  Doorkeeper doorkeeper_;
  FrontDoor& door_;
  std::atomic<int> streams_ = 0, carried_streams_ = 0, requests_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable left_;
  int count_ = 0;
};

}  // namespace cohort::distribute::rpc
