#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cohort/distribute/rpc/served_calls.h"

namespace cohort::distribute::rpc {

// Tells the callers of a server that it is alive and how far its service is, as often as each of them has asked for.
// Has a completion queue and a thread of its own: no request, however long it takes, holds a heartbeat up. The thread
// sees to it, too, that none holds up the others, and that none waits for memory for ever. Thread-safe.
class Heartbeats {
 public:
  // Becomes part of the server that is built.
  explicit Heartbeats(grpc::ServerBuilder& builder);
  ~Heartbeats();
  // Lets callers come from now on. Both must outlive this.
  void start(ServedCalls& calls, ServingThreads& threads);
  // Nothing is told any more. Then the server is to be shut down, whereupon the calls end.
  void stop();
  // To be called when all calls have ended, or when there is no server: the thread is gone when it returns.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  class Heartbeat;
  class HeartbeatMethod;
  void accept();
  // Whether a connection may begin to prove who calls: once, and beside few others, of which the oldest has to go.
  bool may_prove(const Heartbeat& newcomer);
  void run(ServingThreads& threads);
  // False when the queue has been shut down and is empty.
  bool take_events(std::chrono::milliseconds wait);

  const std::unique_ptr<HeartbeatMethod> method_;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  ServedCalls* calls_ = nullptr;
  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Heartbeat*> arrived_;  // and not begun
  std::vector<Heartbeat*> beating_;  // the thread's own
  std::thread thread_;
  bool ended_ = false;  // of end()
};

}  // namespace cohort::distribute::rpc
