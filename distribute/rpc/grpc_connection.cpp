#include "cohort/distribute/rpc/grpc_connection.h"

#include <atomic>
#include <mutex>

#include "cohort/core/log.h"
#include "cohort/distribute/rpc/backoff.h"
#include "cohort/distribute/rpc/carried_stream.h"
#include "cohort/distribute/rpc/grpc_link.h"
#include "cohort/distribute/rpc/grpc_stream.h"

namespace cohort::distribute::rpc {
namespace {

class GrpcConnection : public Connection {
 public:
  GrpcConnection(Peer peer, TransportOptions options) : peer_(std::move(peer)), options_(std::move(options)) { link(); }

  std::unique_ptr<Stream> open() override {
    std::unique_ptr<Stream> stream;
    const std::shared_ptr<GrpcLink> used = link(&stream);
    if (!stream) stream = open_carried(used);
    return stream ? std::move(stream) : std::make_unique<GrpcStream>(used);
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
  const char* transport() const override {
    const Carried by = carrier_;
    return by == Carried::ByMemory ? "shared memory" : by == Carried::BySocket ? "TCP" : "gRPC";
  }
  std::optional<std::chrono::nanoseconds> silence() const override {
    std::lock_guard lock(mutex_);
    return std::chrono::steady_clock::now() - (link_ ? link_->last_heard() : last_heard_);
  }

 private:
  enum class Carried { ByGrpc, ByMemory, BySocket };

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
  // One that goes through more than gRPC; nullptr: there is none now.
  std::unique_ptr<Stream> open_carried(const std::shared_ptr<GrpcLink>& link) {
    const auto begun = Backoff::Clock::now();
    if (options_.transport == "grpc" || !tries_.may_try(begun)) return nullptr;
    const Carried known = carrier_;
    std::unique_ptr<Stream> stream = known == Carried::ByGrpc ? look_for_way(link) : open_by(known, link);
    if (stream) {
      tries_.worked();
    } else {
      tries_.failed(begun, Backoff::Clock::now());
      log::debug("A stream to " + peer_.task + " at " + peer_.address + " goes over gRPC: no other way came about.");
    }
    return stream;
  }
  // Memory is shared with whoever can tell what stands in it.
  std::unique_ptr<Stream> look_for_way(const std::shared_ptr<GrpcLink>& link) {
    for (const auto& [name, carrier] : {std::pair("shm", Carried::ByMemory), std::pair("tcp", Carried::BySocket)}) {
      if (options_.transport != "auto" && options_.transport != name) continue;
      std::unique_ptr<Stream> stream = open_by(carrier, link);
      if (!stream) continue;
      carrier_ = carrier;
      tell_way();
      return stream;
    }
    return nullptr;
  }
  // nullptr: only gRPC carries it.
  std::unique_ptr<Stream> open_by(Carried carrier, const std::shared_ptr<GrpcLink>& link) const {
    if (carrier == Carried::ByMemory) return open_shared_stream(link, options_.connect_timeout);
    if (carrier == Carried::BySocket) return open_socket_stream(link, options_.connect_timeout);
    return nullptr;
  }
  void tell_way() const { log::debug(peer_.task + " at " + peer_.address + " is reached by " + transport() + "."); }
  void choose(const std::shared_ptr<GrpcLink>& link) {
    carrier_ = Carried::ByGrpc;
    tries_.worked();  // what failed on the link before says nothing of this one
    first_ = open_carried(link);
    if (!first_) tell_way();
    if (first_ || options_.transport != "shm") return;
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
  std::unique_ptr<Stream> first_;  // by which it was found out what carries streams, until somebody opens one
  std::atomic<Carried> carrier_ = Carried::ByGrpc;
  Backoff tries_;             // of other ways than gRPC
  mutable std::mutex mutex_;  // guards what follows; never held while anybody waits
  std::shared_ptr<GrpcLink> link_;
  std::chrono::steady_clock::time_point last_heard_;  // on links before this one
};

}  // namespace

std::shared_ptr<Connection> connect_grpc(const Peer& peer, const TransportOptions& options) {
  return std::make_shared<GrpcConnection>(peer, options);
}

}  // namespace cohort::distribute::rpc
