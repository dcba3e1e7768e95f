#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <memory>

#include "cohort/distribute/rpc/client_stream.h"
#include "cohort/distribute/rpc/grpc_settings.h"

namespace cohort::distribute::rpc {

// A stream over gRPC.
class GrpcStream : public ClientStream {
 public:
  explicit GrpcStream(std::shared_ptr<GrpcLink> link);
  ~GrpcStream() override;
  void cancel() override;
  void abandon() override { context_.TryCancel(); }
  const char* transport() const override { return "gRPC"; }

 private:
  // One operation in flight at most; its address is its tag.
  struct Operation {
    bool pending = false;
  };
  void write(Clock::time_point deadline) override;
  void await_reply() override;
  grpc::Status end_call() override;
  void start_read();
  void step(Clock::time_point deadline = Clock::time_point::max());
  void take_chunk();

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call_;
  Operation start_, write_, read_, finish_;
  bool read_failed_ = false;
  grpc::ByteBuffer outgoing_, incoming_;
};

}  // namespace cohort::distribute::rpc
