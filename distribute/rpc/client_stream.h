#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/rpc/grpc_link.h"
#include "cohort/distribute/rpc/message_reader.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// What streams over a link have in common: requests whose replies are awaited, and what an end means. The calling
// thread itself writes, reads and waits; while it has to wait to write it also takes replies in, so that two sides with
// much to say cannot block one another.
class ClientStream : public Stream {
 public:
  void send(const Message& request) final;
  void receive(Message& reply) final;
  void post(const Message& message, std::chrono::steady_clock::time_point deadline) final {
    post_parts(message, deadline, /*copied=*/false);
  }
  void post_copy(const Message& message, std::chrono::steady_clock::time_point deadline) final {
    post_parts(message, deadline, /*copied=*/true);
  }
  // As cancel(), for a link that broke. From any thread.
  virtual void abandon() = 0;

 protected:
  using Clock = std::chrono::steady_clock;
  // A derived class enters the link when it is complete, and leaves it before it goes.
  explicit ClientStream(std::shared_ptr<GrpcLink> link);

  // Moves the writer's message until all of it is on its way or the stream is broken; too late is broken, too.
  virtual void write(Clock::time_point deadline) = 0;
  // Waits until a reply is complete or the stream is broken.
  virtual void await_reply() = 0;
  // Of a broken stream: ends the call and says what its status is.
  virtual grpc::Status end_call() = 0;
  // Keeps a complete reply for later.
  void put_aside();
  // The reader holds a whole reply.
  void reply_is_complete() {
    complete_ = true;
    --expected_;
  }
  void is_damaged(const Error& error);

  const std::shared_ptr<GrpcLink> link_;
  MessageWriter writer_;
  MessageReader reader_;
  bool broken_ = false, late_ = false;
  std::string damage_;  // what was wrong with bytes that came
  std::atomic<bool> cancelled_ = false;
  bool complete_ = false;     // the reader holds a whole reply
  std::size_t expected_ = 0;  // replies that have not come

 private:
  struct Request {
    Method method;
    Clock::time_point start;
  };
  struct Reply {
    Message message;
    std::uint32_t status = 0;
  };
  void post_parts(const Message& message, Clock::time_point deadline, bool copied);
  void end();
  [[noreturn]] void throw_error(const Request& request);

  Message posted_;
  std::deque<Reply> early_;    // replies that came while a request was being written
  std::vector<Request> open_;  // requests whose reply nobody has received, oldest first
  bool ended_ = false;
  grpc::Status status_;
};

}  // namespace cohort::distribute::rpc
