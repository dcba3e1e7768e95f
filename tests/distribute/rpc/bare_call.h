#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cohort/distribute/rpc/grpc_settings.h"

namespace cohort::distribute::rpc::test {

// A call of a stream's method by hand, in plain text: whoever makes it says what it likes afterwards.
class BareCall {
 public:
  //   offer: of memory, where it is not empty.
  BareCall(const std::string& address, const char* method, const std::string& offer = {})
      : stub_(make_channel(address, std::chrono::milliseconds(1000), grpc::InsecureChannelCredentials())) {
    if (!offer.empty()) context_.AddMetadata(kSharedMemoryKey, offer);
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(this);
    wait();
    call_->Read(&answer_, this);
    is_served_ = wait();
  }
  ~BareCall() { cancel_and_drain(context_, queue_); }
  bool is_served() const { return is_served_; }
  std::string answer() {
    grpc::Slice bytes;
    EXPECT_TRUE(answer_.DumpToSingleSlice(&bytes).ok());
    return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
  }
  // What it ends with.
  grpc::Status status() {
    if (is_served_) {
      call_->Read(&answer_, this);
      EXPECT_FALSE(wait());
    }
    grpc::Status status;
    call_->Finish(&status, this);
    wait();
    return status;
  }

 private:
  bool wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call_;
  grpc::ByteBuffer answer_;
  bool is_served_ = false;
};

}  // namespace cohort::distribute::rpc::test
