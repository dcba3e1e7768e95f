#include "cohort/distribute/rpc/grpc_connection.h"

#include <mutex>

#include "cohort/distribute/rpc/grpc_link.h"
#include "cohort/distribute/rpc/grpc_stream.h"

namespace cohort::distribute::rpc {
namespace {

class GrpcConnection : public Connection {
 public:
  GrpcConnection(Peer peer, TransportOptions options) : peer_(std::move(peer)), options_(std::move(options)) { link(); }

  std::unique_ptr<Stream> open() override { return std::make_unique<GrpcStream>(link()); }
  const Peer& peer() const override { return peer_; }
  const char* transport() const override { return "gRPC"; }

 private:
  // A link that broke is replaced: the task may be there again.
  std::shared_ptr<GrpcLink> link() {
    std::lock_guard lock(mutex_);
    if (!link_ || !link_->alive()) {
      link_.reset();
      link_ = std::make_shared<GrpcLink>(peer_, options_);
    }
    return link_;
  }

  const Peer peer_;
  const TransportOptions options_;
  std::mutex mutex_;
  std::shared_ptr<GrpcLink> link_;
};

}  // namespace

std::shared_ptr<Connection> connect_grpc(const Peer& peer, const TransportOptions& options) {
  return std::make_shared<GrpcConnection>(peer, options);
}

}  // namespace cohort::distribute::rpc
