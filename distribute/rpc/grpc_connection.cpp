#include "cohort/distribute/rpc/grpc_connection.h"

#include <atomic>
#include <mutex>

#include "cohort/core/log.h"
#include "cohort/distribute/rpc/grpc_link.h"
#include "cohort/distribute/rpc/grpc_stream.h"
#include "cohort/distribute/rpc/shared_stream.h"

namespace cohort::distribute::rpc {
namespace {

class GrpcConnection : public Connection {
 public:
  GrpcConnection(Peer peer, TransportOptions options) : peer_(std::move(peer)), options_(std::move(options)) { link(); }

  std::unique_ptr<Stream> open() override {
    std::unique_ptr<Stream> first;
    const std::shared_ptr<GrpcLink> used = link(&first);
    if (!first && shares_memory_) first = SharedStream::open(used, options_.connect_timeout);
    return first ? std::move(first) : std::make_unique<GrpcStream>(used);
  }
  bool alive() const override {
    const std::shared_ptr<GrpcLink> link = newest();
    return link && link->alive();
  }
  std::uint64_t progress() const override {
    const std::shared_ptr<GrpcLink> link = newest();
    return link ? link->progress() : 0;
  }
  const Peer& peer() const override { return peer_; }
  const char* transport() const override { return shares_memory_ ? "shared memory" : "gRPC"; }
  std::optional<std::chrono::nanoseconds> silence() const override {
    std::lock_guard lock(mutex_);
    return std::chrono::steady_clock::now() - (link_ ? link_->last_heard() : last_heard_);
  }

 private:
  // A link that broke is replaced: the task may be there again, perhaps elsewhere. `first` gets a stream that stands
  // open, if there is one.
  std::shared_ptr<GrpcLink> link(std::unique_ptr<Stream>* first = nullptr) {
    std::lock_guard lock(connecting_);
    std::shared_ptr<GrpcLink> link = newest();
    if (!link || !link->alive()) {
      link.reset();
      first_.reset();
      replace(nullptr);
      link = std::make_shared<GrpcLink>(peer_, options_);
      choose(link);
      replace(link);
    }
    if (first != nullptr) *first = std::move(first_);
    return link;
  }
  // Memory is shared with whoever can tell what stands in it.
  void choose(const std::shared_ptr<GrpcLink>& link) {
    if (options_.transport != "grpc") first_ = SharedStream::open(link, options_.connect_timeout);
    shares_memory_ = first_ != nullptr;
    log::debug(peer_.task + " at " + peer_.address + " is reached by " + transport() + ".");
    if (shares_memory_ || options_.transport != "shm") return;
    if (!link->alive()) {
      throw RpcError(ErrorCode::Unavailable, peer_, 0, Method::Hello, {}, link->reason());
    }
    throw failed_precondition(peer_.task + " at " + peer_.address, "a task is on this host with the transport shm", {},
                              "Use the transport auto.");
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
  std::mutex connecting_;          // guards the next one
  std::unique_ptr<Stream> first_;  // by which it was found out that memory is shared, until somebody opens one
  std::atomic<bool> shares_memory_ = false;
  mutable std::mutex mutex_;  // guards what follows; never held while anybody waits
  std::shared_ptr<GrpcLink> link_;
  std::chrono::steady_clock::time_point last_heard_;  // on links before this one
};

}  // namespace

std::shared_ptr<Connection> connect_grpc(const Peer& peer, const TransportOptions& options) {
  return std::make_shared<GrpcConnection>(peer, options);
}

}  // namespace cohort::distribute::rpc
