#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cohort/distribute/rpc/stream_deadlines.h"

namespace cohort::distribute::rpc {

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
    StreamDeadlines::Watch watch_;
    Method method_ = Method::Echo;
  };
  // Connects where need be, and hands the request over; its parts must not change until the reply is there.
  Call send(const Message& request, Clock::time_point deadline);
  void call(const Message& request, Message& reply, Clock::time_point deadline) {
    send(request, deadline).receive(reply);
  }
  const Peer& peer() const { return peer_; }
  // Calls that are to be answered by then, for those who call on any kind of stream.
  struct Until {
    TimedCalls& calls;
    Clock::time_point deadline;
    void call(const Message& request, Message& reply) { calls.call(request, reply, deadline); }
  };
  Until until(Clock::time_point deadline) { return {*this, deadline}; }

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
