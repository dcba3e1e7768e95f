#include "tests/distribute/rpc/handmade_task.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace cohort::distribute::rpc::test {

HandmadeTask::Call::~Call() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) continue;
}

bool HandmadeTask::Call::wait() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

bool HandmadeTask::Call::hear(std::string& bytes) {
  grpc::ByteBuffer heard;
  stream_.Read(&heard, nullptr);
  if (!wait()) return false;
  grpc::Slice slice;
  bytes.clear();
  if (heard.DumpToSingleSlice(&slice).ok()) bytes.assign(slice.begin(), slice.end());
  return true;
}

bool HandmadeTask::Call::say(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  stream_.Write(grpc::ByteBuffer(&slice, 1), nullptr);
  return wait();
}

HandmadeTask::HandmadeTask(std::function<void(Call&)> serve,
                           const std::shared_ptr<grpc::ServerCredentials>& credentials)
    : serve_(std::move(serve)) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials, &port);
  builder.RegisterAsyncGenericService(&service_);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("a server made by hand does not serve");
  address_ = "127.0.0.1:" + std::to_string(port);
  accepting_ = std::thread([this] { accept(); });
}

HandmadeTask::~HandmadeTask() {
  server_->Shutdown(std::chrono::system_clock::now());
  accepting_.join();
  for (std::thread& call : calls_) call.join();
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) continue;
}

void HandmadeTask::accept() {
  for (;;) {
    auto call = std::make_shared<Call>();
    service_.RequestCall(&call->context_, &call->stream_, &call->queue_, queue_.get(), nullptr);
    void* tag = nullptr;
    bool ok = false;
    if (!queue_->Next(&tag, &ok) || !ok) return;
    calls_.emplace_back([this, call = std::move(call)] {
      serve_(*call);
      call->stream_.Finish(grpc::Status::CANCELLED, nullptr);
      call->wait();
    });
  }
}

}  // namespace cohort::distribute::rpc::test
