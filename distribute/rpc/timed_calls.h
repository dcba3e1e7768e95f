#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// Cancels streams whose time is up. Thread-safe.
class StreamDeadlines {
 public:
  using Clock = std::chrono::steady_clock;
  StreamDeadlines();
  ~StreamDeadlines();
  StreamDeadlines(const StreamDeadlines&) = delete;

  // Cancels the stream then, unless it is forgotten before: a number to do that by.
  std::uint64_t watch(Clock::time_point deadline, std::shared_ptr<Stream> stream);
  // False where it was too late.
  bool forget(std::uint64_t number);

 private:
  void wait();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::uint64_t numbers_ = 0;
  std::map<std::pair<Clock::time_point, std::uint64_t>, std::shared_ptr<Stream>> watched_;
  std::map<std::uint64_t, Clock::time_point> deadlines_;
  std::thread thread_;
};

// Calls to one task that are answered in time or fail, any number at once; none is sent twice. Thread-safe.
class TimedCalls {
 public:
  using Clock = StreamDeadlines::Clock;
  TimedCalls(Peer peer, TransportOptions options, std::shared_ptr<StreamDeadlines> deadlines);

  // A request that is under way.
  class Call {
   public:
    Call(Call&&) = default;
    ~Call();
    // Waits for the reply. Throws what the task threw, an RpcError, or DeadlineExceeded with the task's name.
    void receive(Message& reply);

   private:
    friend class TimedCalls;
    Call(TimedCalls& calls, std::shared_ptr<Stream> stream, Clock::time_point begin, Clock::time_point deadline);
    TimedCalls* calls_;
    std::shared_ptr<Stream> stream_;  // none once the reply was received
    Clock::time_point begin_;
    std::uint64_t watch_ = 0;
    Method method_ = Method::Echo;
  };
  // Connects where need be, and hands the request over; its parts must not change until the reply is there.
  Call send(const Message& request, Clock::time_point deadline);
  void call(const Message& request, Message& reply, Clock::time_point deadline) {
    send(request, deadline).receive(reply);
  }
  const Peer& peer() const { return peer_; }

 private:
  std::shared_ptr<Stream> take_stream(Clock::time_point deadline);

  const Peer peer_;
  const TransportOptions options_;
  const std::shared_ptr<StreamDeadlines> deadlines_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Connection> connection_;
  std::vector<std::shared_ptr<Stream>> idle_;
};

}  // namespace cohort::distribute::rpc
