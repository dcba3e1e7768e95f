#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// A stream for requests that the task de-duplicates, any number in flight: each is sent again, the same to the letter,
// when no reply came in time, and replies find their requests however they arrive. A broken connection is an error at
// once: whoever comes back there may be another. Used by one thread at a time, but cancel() is for any.
class RepeatingStream {
 public:
  explicit RepeatingStream(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  // Gives the request its sequence and hands it over. What its parts point to must not change until the reply is there.
  void send(Message& request);
  // Waits for the reply to the oldest request that has none. Throws what the task threw, or an RpcError.
  void receive(Message& reply);
  void call(Message& request, Message& reply) {
    send(request);
    receive(reply);
  }

  // From any thread: whoever waits gets an RpcError, and so does everyone after.
  void cancel() { stream_->cancel(); }

 private:
  struct Request {
    Message message = {};
    bool answered = false;
    Message reply = {};
    std::exception_ptr error = {};  // what the task threw
  };
  void take_reply();

  const std::unique_ptr<Stream> stream_;
  std::deque<Request> under_way_;
  Message reply_;
  std::uint64_t last_sequence_ = 0;
};

}  // namespace cohort::distribute::rpc
