#include "cohort/distribute/rpc/grpc_link.h"

#include <algorithm>
#include <cstdio>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/grpc_stream.h"

namespace cohort::distribute::rpc {
namespace {

using SystemClock = std::chrono::system_clock;

// Tags of the heartbeat's operations.
char kStarted, kAsked, kBeat, kFinished;

std::string target(const Peer& peer) { return parse_address(peer.address, peer.task).numeric(); }

}  // namespace

std::string plain_reason(const grpc::Status& status) {
  const std::string& text = status.error_message();
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  if (says("Connection refused")) return "connection refused";
  if (says("DNS resolution failed") || says("Name or service not known") || says("Domain name not found")) {
    return "name not found";
  }
  if (says("timed out")) return "no answer";
  if (says("Connection reset") || says("Broken pipe") || says("Socket closed") || says("End of file") ||
      says("closed by the peer")) {
    return "connection closed by the task";
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return "a server that does not speak this version of the protocol listens there";
  }
  if (status.error_code() == grpc::StatusCode::CANCELLED) return "the server has stopped";
  if (text.empty() && status.ok()) return "the task closed the stream";
  return text;
}

GrpcLink::GrpcLink(const Peer& peer, const TransportOptions& options)
    : peer_(peer),
      connect_timeout_(options.connect_timeout),
      heartbeat_(std::max(options.heartbeat, std::chrono::milliseconds(10))),
      dead_after_(std::max(options.dead_after, 2 * heartbeat_)),
      stub_(make_channel(target(peer), options.connect_timeout)) {
  try {
    connect();
    watcher_ = std::thread([this] { watch(); });
  } catch (...) {
    end_heartbeat();
    throw;
  }
}

GrpcLink::~GrpcLink() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  watcher_.join();
  end_heartbeat();
}

void GrpcLink::end_heartbeat() {
  context_.TryCancel();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) continue;
}

void GrpcLink::connect() {
  const auto start = std::chrono::steady_clock::now();
  const auto deadline = SystemClock::now() + connect_timeout_;
  const auto refuse = [&](const std::string& reason) {
    return RpcError(ErrorCode::Unavailable, peer_, 0, Method::Hello, std::chrono::steady_clock::now() - start, reason);
  };
  call_ = stub_.PrepareCall(&context_, kHeartbeatMethod, &queue_);
  call_->StartCall(&kStarted);
  const auto milliseconds = static_cast<std::uint32_t>(heartbeat_.count());
  const grpc::Slice interval(&milliseconds, sizeof milliseconds);
  bool asked = false, finishing = false;
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) throw refuse("no answer");
    if (tag == &kFinished) throw refuse(plain_reason(status_));
    if (tag == &kBeat && ok) break;
    if (ok && tag == &kStarted) {
      call_->Write(grpc::ByteBuffer(&interval, 1), &kAsked);
      call_->Read(&beat_, &kBeat);
      asked = true;
    } else if (!ok && !finishing && (tag == &kBeat || !asked)) {
      finishing = true;
      call_->Finish(&status_, &kFinished);
    }
  }
  heard();
  call_->Read(&beat_, &kBeat);
}

// Looks only now and then instead of waiting inside gRPC: whoever waits there gets the events of all streams of the
// process first and would have to pass them on.
void GrpcLink::watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::int64_t silent = now() - last_heard_;
    const auto left = std::chrono::nanoseconds(std::chrono::nanoseconds(dead_after_).count() - silent);
    wake_.wait_for(lock, std::clamp<std::chrono::nanoseconds>(left, std::chrono::milliseconds(1), heartbeat_));
    if (stopping_) return;
    lock.unlock();
    const bool holds = take_heartbeats();
    const double seconds = static_cast<double>(now() - last_heard_) * 1e-9;
    if (!holds) {
      fail("connection closed by the task");
    } else if (seconds > std::chrono::duration<double>(dead_after_).count()) {
      char text[64];
      std::snprintf(text, sizeof text, "no sign of life for %.1f s", seconds);
      fail(text);
    }
    if (!alive_) return;
    lock.lock();
  }
}

bool GrpcLink::take_heartbeats() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.AsyncNext(&tag, &ok, SystemClock::now()) == grpc::CompletionQueue::GOT_EVENT) {
    if (tag != &kBeat) continue;
    if (!ok) return false;
    heard();
    call_->Read(&beat_, &kBeat);
  }
  return true;
}

void GrpcLink::fail(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (!alive_) return;
  reason_ = reason;
  alive_ = false;
  for (GrpcStream* stream : streams_) stream->abandon();
}

std::string GrpcLink::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

void GrpcLink::enter(GrpcStream* stream) {
  std::lock_guard lock(mutex_);
  streams_.insert(stream);
  if (!alive_) stream->abandon();
}

void GrpcLink::leave(GrpcStream* stream) {
  std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

}  // namespace cohort::distribute::rpc
