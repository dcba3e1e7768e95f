#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

class GrpcStream;

// One network connection to a task with a heartbeat on it, as long as it holds: once it is found broken or silent, its
// streams are told and it stays dead. Thread-safe.
class GrpcLink {
 public:
  // Connects; throws an RpcError with the reason when the first heartbeat does not come in time.
  GrpcLink(const Peer& peer, const TransportOptions& options);
  ~GrpcLink();

  const Peer& peer() const { return peer_; }
  grpc::GenericStub& stub() { return stub_; }
  bool alive() const { return alive_; }
  // Ends all streams that wait; the first reason counts.
  void fail(const std::string& reason);
  std::string reason() const;

  // A stream is told of the link's end between these two calls.
  void enter(GrpcStream* stream);
  void leave(GrpcStream* stream);
  // A sign of life that is no heartbeat.
  void heard() { last_heard_ = now(); }
  std::atomic<std::uint64_t>& incarnation() { return incarnation_; }

 private:
  using Call = grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  void connect();
  void end_heartbeat();
  void watch();
  bool take_heartbeats();

  const Peer peer_;
  const std::chrono::milliseconds connect_timeout_, heartbeat_, dead_after_;
  grpc::GenericStub stub_;
  std::atomic<bool> alive_ = true;
  std::atomic<std::int64_t> last_heard_ = 0;
  std::atomic<std::uint64_t> incarnation_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string reason_;
  std::set<GrpcStream*> streams_;

  // Of the heartbeat: first the constructor's, then the watching thread's.
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<Call> call_;
  grpc::ByteBuffer beat_;
  grpc::Status status_;  // written whenever the call ends, perhaps after connect() has given up
  std::thread watcher_;
};

// "connection refused" and the like out of what gRPC tells.
std::string plain_reason(const grpc::Status& status);

}  // namespace cohort::distribute::rpc
