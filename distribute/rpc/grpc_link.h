#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cohort/distribute/rpc/grpc_credentials.h"
#include "cohort/distribute/rpc/link_watch.h"
#include "cohort/distribute/rpc/shared_secret.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

class ClientStream;

// One network connection to a task with a heartbeat on it, as long as it holds: once it is found broken or silent, its
// streams are told and it stays dead. Thread-safe.
class GrpcLink {
 public:
  // Connects; throws an RpcError with the reason when the first heartbeat does not come in time.
  GrpcLink(const Peer& peer, const TransportOptions& options);
  ~GrpcLink();

  const Peer& peer() const { return peer_; }
  grpc::GenericStub& stub() { return stub_; }
  bool is_encrypted() const { return encrypted_; }
  std::chrono::milliseconds dead_after() const { return dead_after_; }
  // Looks for news first, so that a task that died while nobody called is known, too.
  bool alive();
  // That of the newest heartbeat.
  std::uint64_t progress() const { return progress_; }
  // Ends all streams that wait; the first reason counts.
  void fail(const std::string& reason);
  std::string reason() const;

  // A stream is told of the link's end between these two calls.
  void enter(ClientStream* stream);
  void leave(ClientStream* stream);
  // A sign of life that is no heartbeat.
  void heard() { last_heard_ = now(); }
  // When it was last heard of, on the steady clock.
  std::chrono::steady_clock::time_point last_heard() const {
    return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(last_heard_));
  }
  std::atomic<std::uint64_t>& incarnation() { return incarnation_; }

 private:
  using Call = grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  friend class LinkWatch;
  void connect(const Security* security);
  void write(const std::string& bytes);
  void end_heartbeat();
  // Takes the heartbeats that have come and judges. Without what it might have heard in `missed`.
  void look(std::chrono::nanoseconds missed);
  bool take_heartbeats(int looks);
  void take_beat();

  const Peer peer_;
  const std::chrono::milliseconds connect_timeout_, heartbeat_, dead_after_;
  const std::uint64_t caller_;
  const bool encrypted_;
  const std::optional<CallerProof> proof_;  // where a secret is to be proven
  const CallerCredentials credentials_;
  grpc::GenericStub stub_;
  std::atomic<bool> alive_ = true;
  std::atomic<std::int64_t> last_heard_ = 0;
  std::atomic<std::uint64_t> incarnation_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::string reason_;
  std::set<ClientStream*> streams_;

  const std::shared_ptr<LinkWatch> watch_ = LinkWatch::shared();
  std::mutex looking_;  // guards what follows, once connected: the heartbeat
  std::int64_t last_look_ = 0;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<Call> call_;
  grpc::ByteBuffer beat_;
  grpc::Status status_;  // written whenever the call ends, perhaps after connect() has given up
};

// "connection refused" and the like out of what gRPC tells.
std::string plain_reason(const grpc::Status& status);

}  // namespace cohort::distribute::rpc
