#include "cohort/distribute/rpc/grpc_link.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/client_stream.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/reasons.h"

namespace cohort::distribute::rpc {
namespace {

using SystemClock = std::chrono::system_clock;

// Tags of the heartbeat's operations.
char kStarted, kWritten, kBeat, kFinished;

std::optional<CallerProof> proof_of(const Security* security) {
  if (!security || security->kind != Security::Kind::Secret) return std::nullopt;
  return std::make_optional<CallerProof>(security->secret, security->own);
}

constexpr char kClosedByTask[] = "connection closed by the task";

// Over TLS a task does not say why it ends a connection, and to gRPC's callers none in plain text.
std::string with_likely_cause(std::string reason, const Security* security) {
  const bool secured = security && security->kind != Security::Kind::Insecure;
  if (!secured && reason == "GOAWAY received")
    return "the task takes encrypted callers only: give certificates or the secret";
  if (!secured || reason != kClosedByTask) return reason;
  return reason + (security->kind == Security::Kind::Certificates
                       ? ", perhaps because it does not take this task's certificate"
                       : ", perhaps because it asks for a certificate in the place of a secret");
}

std::string target(const Peer& peer) { return parse_address(peer.address, peer.task).numeric(); }

}  // namespace

std::string plain_reason(const grpc::Status& status) {
  const std::string& text = status.error_message();
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  if (says("Connection refused")) return kConnectionRefused;
  if (says("DNS resolution failed") || says("Name or service not known") || says("Domain name not found")) {
    return "name not found";
  }
  if (says("timed out")) return "no answer";
  if (says("Connection reset") || says("Broken pipe") || says("Socket closed") || says("End of file") ||
      says("closed by the peer")) {
    return kClosedByTask;
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return "a server that does not speak this version of the protocol listens there";
  }
  if (status.error_code() == grpc::StatusCode::CANCELLED) return kServerStopped;
  if (text.empty() && status.ok()) return "the task closed the stream";
  return text;
}

GrpcLink::GrpcLink(const Peer& peer, const TransportOptions& options)
    : peer_(peer),
      connect_timeout_(options.connect_timeout),
      heartbeat_(std::max(options.heartbeat, std::chrono::milliseconds(10))),
      // A heartbeat is taken when somebody looks.
      dead_after_(std::max(options.dead_after, 2 * (heartbeat_ + LinkWatch::kLongestPause))),
      caller_(options.caller),
      encrypted_(options.security && options.security->kind != Security::Kind::Insecure),
      proof_(proof_of(options.security.get())),
      credentials_(caller_credentials(options.security.get(), peer)),
      stub_(make_channel(target(peer), options.connect_timeout, credentials_.credentials)) {
  try {
    connect(options.security.get());
  } catch (...) {
    end_heartbeat();
    throw;
  }
  watch_->add(this);
}

GrpcLink::~GrpcLink() {
  watch_->remove(this);
  end_heartbeat();
}

void GrpcLink::end_heartbeat() { cancel_and_drain(context_, queue_); }

void GrpcLink::connect(const Security* security) {
  const auto start = std::chrono::steady_clock::now();
  const auto deadline = SystemClock::now() + connect_timeout_;
  const auto refuse = [&](const std::string& reason) {
    return RpcError(ErrorCode::Unavailable, peer_, 0, Method::Hello, std::chrono::steady_clock::now() - start, reason);
  };
  context_.AddMetadata(kHeartbeatInterval, std::to_string(heartbeat_.count()));
  if (caller_ != 0) context_.AddMetadata(kCallerKey, std::to_string(caller_));
  call_ = stub_.PrepareCall(&context_, kHeartbeatMethod, &queue_);
  call_->StartCall(&kStarted);
  bool greets = proof_.has_value(), proves = greets;
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) throw refuse("no answer");
    if (tag == &kFinished && status_.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
      // Asking again does not help.
      throw Error(ErrorCode::PermissionDenied, peer_.task + " at " + peer_.address + ": " + status_.error_message());
    }
    if (tag == &kFinished) throw refuse(with_likely_cause(plain_reason(status_), security));
    if (!ok) {
      call_->Finish(&status_, &kFinished);
    } else if (tag == &kStarted && greets) {
      greets = false;
      write(proof_->greeting());
    } else if (tag == &kStarted || tag == &kWritten) {
      call_->Read(&beat_, &kBeat);
    } else if (proves) {
      proves = false;
      grpc::Slice challenge;
      if (!beat_.DumpToSingleSlice(&challenge).ok()) throw refuse("an empty challenge");
      write(proof_->answer({reinterpret_cast<const char*>(challenge.begin()), challenge.size()},
                           credentials_.seen->fingerprint()));
    } else {
      break;
    }
  }
  take_beat();
}

void GrpcLink::write(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  call_->Write(grpc::ByteBuffer(&slice, 1), &kWritten);
}

void GrpcLink::take_beat() {
  heard();
  std::uint64_t progress = 0;
  grpc::Slice told;
  if (beat_.Length() == sizeof progress && beat_.DumpToSingleSlice(&told).ok()) {
    std::memcpy(&progress, told.begin(), sizeof progress);
    progress_ = progress;
  }
  call_->Read(&beat_, &kBeat);
}

// gRPC deals with one socket in a look, perhaps another link's.
bool GrpcLink::take_heartbeats(int looks) {
  void* tag = nullptr;
  bool ok = false;
  while (looks > 0) {
    if (queue_.AsyncNext(&tag, &ok, kLongAgo) != grpc::CompletionQueue::GOT_EVENT) {
      --looks;
    } else if (ok) {
      take_beat();
    } else {
      return false;
    }
  }
  return true;
}

void GrpcLink::look(std::chrono::nanoseconds missed) {
  std::lock_guard lock(looking_);
  if (!alive_) return;
  last_look_ = now();
  if (missed.count() > 0) last_heard_ = std::min(last_heard_ + missed.count(), last_look_);
  const bool holds = take_heartbeats(2);
  const double seconds = static_cast<double>(now() - last_heard_) * 1e-9;
  if (!holds) {
    fail(kClosedByTask);
  } else if (seconds > std::chrono::duration<double>(dead_after_).count()) {
    char text[64];
    std::snprintf(text, sizeof text, "no sign of life for %.1f s", seconds);
    fail(text);
  }
}

bool GrpcLink::alive() {
  constexpr std::int64_t kBetweenLooks = 1'000'000;
  const std::unique_lock lock(looking_, std::try_to_lock);
  if (lock && alive_ && now() - last_look_ > kBetweenLooks) {
    last_look_ = now();
    if (!take_heartbeats(4)) fail(kClosedByTask);
  }
  return alive_;
}

void GrpcLink::fail(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (!alive_) return;
  reason_ = reason;
  alive_ = false;
  for (ClientStream* stream : streams_) stream->abandon();
}

std::string GrpcLink::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

void GrpcLink::enter(ClientStream* stream) {
  std::lock_guard lock(mutex_);
  streams_.insert(stream);
  if (!alive_) stream->abandon();
}

void GrpcLink::leave(ClientStream* stream) {
  std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

}  // namespace cohort::distribute::rpc
