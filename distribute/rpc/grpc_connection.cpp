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
  bool alive() const override {
    const std::shared_ptr<GrpcLink> link = newest();
    return link && link->alive();
  }
  std::uint64_t progress() const override {
    const std::shared_ptr<GrpcLink> link = newest();
    return link ? link->progress() : 0;
  }
  const Peer& peer() const override { return peer_; }
  const char* transport() const override { return "gRPC"; }
  std::optional<std::chrono::nanoseconds> silence() const override {
    std::lock_guard lock(mutex_);
    return std::chrono::steady_clock::now() - (link_ ? link_->last_heard() : last_heard_);
  }

 private:
  // A link that broke is replaced: the task may be there again.
  std::shared_ptr<GrpcLink> link() {
    std::lock_guard lock(connecting_);
    std::shared_ptr<GrpcLink> link = newest();
    if (link && link->alive()) return link;
    link.reset();
    replace(nullptr);
    link = std::make_shared<GrpcLink>(peer_, options_);
    replace(link);
    return link;
  }
  std::shared_ptr<GrpcLink> newest() const {
    std::lock_guard lock(mutex_);
    return link_;
  }
  void replace(std::shared_ptr<GrpcLink> link) {
    std::lock_guard lock(mutex_);
    if (link_) last_heard_ = link_->last_heard();
    link_.swap(link);
  }

  const Peer peer_;
  const TransportOptions options_;
  std::mutex connecting_;
  mutable std::mutex mutex_;  // guards what follows; never held while anybody waits
  std::shared_ptr<GrpcLink> link_;
  std::chrono::steady_clock::time_point last_heard_;  // on links before this one
};

}  // namespace

std::shared_ptr<Connection> connect_grpc(const Peer& peer, const TransportOptions& options) {
  return std::make_shared<GrpcConnection>(peer, options);
}

}  // namespace cohort::distribute::rpc
