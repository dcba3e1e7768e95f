#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cohort/distribute/rpc/carrier.h"
#include "cohort/distribute/rpc/client_stream.h"
#include "cohort/distribute/rpc/grpc_settings.h"

namespace cohort::distribute::rpc {

// A stream whose messages go through memory that both processes map, or through a socket of their own. It has a call
// over gRPC, on which the two agree upon that, and which ends with either of them.
class CarriedStream : public ClientStream {
 public:
  ~CarriedStream() override;
  void cancel() override;
  void abandon() override;
  const char* transport() const override { return transport_; }

 private:
  using CompletionDeadline = std::chrono::system_clock::time_point;
  friend std::unique_ptr<Stream> open_shared_stream(const std::shared_ptr<GrpcLink>&, std::chrono::milliseconds);
  friend std::unique_ptr<Stream> open_socket_stream(const std::shared_ptr<GrpcLink>&, std::chrono::milliseconds);
  CarriedStream(std::shared_ptr<GrpcLink> link, const char* transport, const char* method, const std::string& offer);
  // The task's answer to the call; empty when there is none.
  std::string await_answer(CompletionDeadline deadline);
  // Where the call went.
  std::string where() const { return context_.peer(); }
  void start(std::unique_ptr<Carrier> carrier);
  void write(Clock::time_point deadline) override;
  void await_reply() override;
  grpc::Status end_call() override;
  template <class Move>
  void guard(const Move& move);
  void take();
  void sleep(std::uint32_t reasons, Clock::time_point deadline);
  void look_for_end();

  const char* const transport_;
  std::unique_ptr<Carrier> carrier_;
  std::atomic<bool> abandoned_ = false;
  const std::function<bool()> is_over_ = [this] { return abandoned_ || carrier_->is_closed(); };
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call_;
  bool reading_ = false;  // what the task never sends: a second message
  grpc::ByteBuffer incoming_;
};

// nullptr when the task does not see this process's memory, or has enough of such streams.
std::unique_ptr<Stream> open_shared_stream(const std::shared_ptr<GrpcLink>& link, std::chrono::milliseconds longest);
// nullptr when no connection besides the link's comes about, or the task has enough of such streams.
std::unique_ptr<Stream> open_socket_stream(const std::shared_ptr<GrpcLink>& link, std::chrono::milliseconds longest);

}  // namespace cohort::distribute::rpc
