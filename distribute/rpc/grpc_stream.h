#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

class GrpcLink;

// A stream over gRPC. The calling thread itself writes, reads and waits; while it has to wait to write it also takes
// replies in, so that two sides with much to say cannot block one another.
class GrpcStream : public Stream {
 public:
  explicit GrpcStream(std::shared_ptr<GrpcLink> link);
  ~GrpcStream() override;
  void send(const Message& request) override;
  void receive(Message& reply) override;
  void cancel() override;
  void post(const Message& message, std::chrono::steady_clock::time_point deadline) override;
  // As cancel(), for a link that broke. From any thread.
  void abandon() { context_.TryCancel(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    Method method;
    Clock::time_point start;
  };
  struct Reply {
    Message message;
    std::uint32_t status = 0;
  };
  // One operation in flight at most; its address is its tag.
  struct Operation {
    bool pending = false;
  };
  void write(Clock::time_point deadline = Clock::time_point::max());
  void start_read();
  void step(Clock::time_point deadline = Clock::time_point::max());
  void take_chunk();
  void end_call();
  [[noreturn]] void throw_error(const Request& request);

  const std::shared_ptr<GrpcLink> link_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call_;
  Operation start_, write_, read_, finish_;
  bool broken_ = false, read_failed_ = false, ended_ = false, late_ = false;
  grpc::Status status_;
  std::string damage_;  // what was wrong with bytes that came
  std::atomic<bool> cancelled_ = false;

  MessageWriter writer_;
  Message posted_;
  MessageReader reader_;
  grpc::ByteBuffer outgoing_, incoming_;
  bool complete_ = false;      // the reader holds a whole reply
  std::deque<Reply> early_;    // replies that came while a request was being written
  std::size_t expected_ = 0;   // replies that have not come
  std::vector<Request> open_;  // requests whose reply nobody has received, oldest first
};

}  // namespace cohort::distribute::rpc
