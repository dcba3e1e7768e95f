#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "cohort/distribute/rpc/grpc_settings.h"

namespace cohort::distribute::rpc::test {

// A stream whose bytes are made by hand.
class HandmadeStream {
 public:
  //   offer: of memory, where it is not empty.
  HandmadeStream(const std::string& address, const char* method,
                 const std::shared_ptr<grpc::ChannelCredentials>& credentials = grpc::InsecureChannelCredentials(),
                 const std::string& offer = {})
      : stub_(make_channel(address, std::chrono::milliseconds(3000), credentials)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    if (method == kHeartbeatMethod) context_.AddMetadata(kHeartbeatInterval, "1000");
    if (!offer.empty()) context_.AddMetadata(kSharedMemoryKey, offer);
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(nullptr);
    wait();
  }
  ~HandmadeStream() { cancel_and_drain(context_, queue_); }
  bool say(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    call_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    return wait();
  }
  // False: there is none.
  bool hear(std::string& bytes) {
    grpc::ByteBuffer heard;
    call_->Read(&heard, nullptr);
    if (!wait()) return false;
    grpc::Slice slice;
    bytes.clear();
    if (heard.DumpToSingleSlice(&slice).ok()) bytes.assign(slice.begin(), slice.end());
    return true;
  }
  // What it ends with, whatever is said before.
  grpc::Status end() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
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
};

}  // namespace cohort::distribute::rpc::test
