#include "benchmarks/plain_grpc_stream.h"

#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/method_handler.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace cohort::bench {
namespace {

constexpr char kMethod[] = "/cohort.bench.Plain/Stream";
constexpr std::size_t kMessage = std::size_t{1} << 20;

// In front of each message: how many messages of which size to answer with.
struct Order {
  std::uint32_t answers = 0;
  std::uint32_t bytes = 0;
};

void release_nothing(void*) {}

// As much as is ever moved at once: every message is sent from memory of its own, as a tensor's would be.
constexpr std::size_t kMemory = std::size_t{256} << 20;

// Message `index` over memory that stays, with an order in front.
grpc::ByteBuffer message(const Order& order, std::vector<char>& memory, std::size_t index, std::size_t bytes) {
  char* start = memory.data() + index * kMessage % kMemory;
  const grpc::Slice slices[] = {grpc::Slice(&order, sizeof order),
                                grpc::Slice(start, bytes - sizeof order, release_nothing, nullptr)};
  return grpc::ByteBuffer(slices, 2);
}

using ServerStream = grpc::ServerReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

class PlainService : public grpc::Service {
 public:
  PlainService() {
    using Handler = grpc::internal::BidiStreamingHandler<PlainService, grpc::ByteBuffer, grpc::ByteBuffer>;
    AddMethod(new grpc::internal::RpcServiceMethod(
        kMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
        new Handler([](PlainService*, grpc::ServerContext*, ServerStream* stream) { return serve(stream); }, this)));
  }

 private:
  static grpc::Status serve(ServerStream* stream) {
    std::vector<char> memory(kMemory, 1);
    grpc::ByteBuffer request;
    std::vector<grpc::Slice> slices;
    while (stream->Read(&request)) {
      request.Dump(&slices);
      Order order;
      std::size_t got = 0;
      for (std::size_t i = 0; got < sizeof order && i < slices.size(); ++i) {
        const std::size_t part = std::min(sizeof order - got, slices[i].size());
        std::memcpy(reinterpret_cast<char*>(&order) + got, slices[i].begin(), part);
        got += part;
      }
      for (std::uint32_t i = 0; i < order.answers; ++i) stream->Write(message({}, memory, i, order.bytes));
    }
    return grpc::Status::OK;
  }
};

}  // namespace

class PlainServer::Body {
 public:
  Body() {
    // Debian's Abseil looks for deadlocks in every lock; the transports go without, so does what they are compared
    // with.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~Body() { server_->Shutdown(std::chrono::system_clock::now()); }
  PlainService service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

PlainServer::PlainServer() : body_(std::make_unique<Body>()) {}
PlainServer::~PlainServer() = default;
const std::string& PlainServer::address() const { return body_->address_; }

class PlainClient::Body {
 public:
  explicit Body(const std::string& address)
      : channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        method_(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING, channel_),
        stream_(grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
            channel_.get(), method_, &context_)) {}
  ~Body() {
    stream_->WritesDone();
    stream_->Finish();
  }
  void exchange(std::size_t messages, std::size_t bytes, const Order& last) {
    for (std::size_t i = 0; i < messages; ++i) {
      const bool ok = stream_->Write(message(i + 1 == messages ? last : Order{}, memory_, i, bytes));
      if (!ok) throw std::runtime_error("plain gRPC stream: a message could not be written");
    }
    grpc::ByteBuffer answer;
    for (std::uint32_t i = 0; i < last.answers; ++i) {
      if (!stream_->Read(&answer)) throw std::runtime_error("plain gRPC stream: an answer did not come");
    }
  }

 private:
  std::vector<char> memory_ = std::vector<char>(kMemory, 1);
  std::shared_ptr<grpc::Channel> channel_;
  grpc::internal::RpcMethod method_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

PlainClient::PlainClient(const std::string& address) : body_(std::make_unique<Body>(address)) {}
PlainClient::~PlainClient() = default;
void PlainClient::round_trip() { body_->exchange(1, 64, {1, 64}); }
void PlainClient::push(std::size_t messages) { body_->exchange(messages, kMessage, {1, 64}); }
void PlainClient::pull(std::size_t messages) {
  body_->exchange(1, 64, {static_cast<std::uint32_t>(messages), kMessage});
}

}  // namespace cohort::bench
