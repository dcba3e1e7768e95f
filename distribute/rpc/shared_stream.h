#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <memory>

#include "cohort/distribute/rpc/client_stream.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/ring_messages.h"

namespace cohort::distribute::rpc {

// A stream through memory that both processes map. It has a call over gRPC, on which the two prove to one another that
// they do, and which ends with either of them.
class SharedStream : public ClientStream {
 public:
  // nullptr when the task does not see this process's memory, or has enough of such streams.
  static std::unique_ptr<SharedStream> open(const std::shared_ptr<GrpcLink>& link, std::chrono::milliseconds longest);
  ~SharedStream() override;
  void cancel() override;
  void abandon() override;

 private:
  using CompletionDeadline = std::chrono::system_clock::time_point;
  SharedStream(std::shared_ptr<GrpcLink> link, std::unique_ptr<SharedRings> rings);
  bool greet(CompletionDeadline deadline);
  void write(Clock::time_point deadline) override;
  void await_reply() override;
  grpc::Status end_call() override;
  void take();
  void sleep(std::uint32_t reasons, Clock::time_point deadline);
  bool is_over() const;
  void look_for_end();

  const std::unique_ptr<SharedRings> rings_;
  RingMessages messages_{*rings_};
  std::atomic<bool> abandoned_ = false;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call_;
  bool reading_ = false;  // what the task never sends: a second message
  grpc::ByteBuffer incoming_;
};

}  // namespace cohort::distribute::rpc
