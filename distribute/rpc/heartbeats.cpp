#include "cohort/distribute/rpc/heartbeats.h"

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/async_stream.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "cohort/distribute/rpc/grpc_settings.h"

namespace cohort::distribute::rpc {
namespace {

constexpr std::chrono::milliseconds kTick{50}, kTickWhileProving{5}, kTimeToProve{5000};
// A stranger's message may have 2 MiB before it is found to be no proof.
constexpr int kMostProofs = 64;

// How often a caller wants to hear of this task; 0 when it does not say so.
std::chrono::milliseconds asked_interval(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find(kHeartbeatInterval);
  if (found == context.client_metadata().end()) return {};
  std::uint32_t milliseconds = 0;
  const char* begin = found->second.data();
  const char* end = begin + found->second.size();
  const auto [rest, error] = std::from_chars(begin, end, milliseconds);
  if (error != std::errc() || rest != end) return {};
  return std::chrono::milliseconds(std::clamp(milliseconds, 10u, 60'000u));
}

// 0: it does not say who it is.
std::uint64_t caller_of(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find(kCallerKey);
  std::uint64_t caller = 0;
  if (found != context.client_metadata().end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), caller);
  }
  return caller;
}

}  // namespace

// Its calls come to the queue of Heartbeats, which those of a generic service would not.
class Heartbeats::HeartbeatMethod : public grpc::Service {
 public:
  HeartbeatMethod() {
    AddMethod(new grpc::internal::RpcServiceMethod(kHeartbeatMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                   /*handler=*/nullptr));
    MarkMethodAsync(0);
  }
  using grpc::Service::RequestAsyncBidiStreaming;
};

// One caller's. Its arrival is an event of the server's queue; all else happens on the thread of Heartbeats.
class Heartbeats::Heartbeat : public QueueEvent {
 public:
  // The tag of an operation.
  struct Operation {
    Heartbeat* heartbeat;
    bool under_way = false;
    Operation* begin() {
      under_way = true;
      return this;
    }
  };

  explicit Heartbeat(Heartbeats& owner) : owner_(owner) {
    owner_.calls_->enter();
    owner_.method_->RequestAsyncBidiStreaming(0, &context_, &stream_, owner_.queue_.get(), &owner_.calls_->queue(),
                                              QueueEvent::begin());
  }
  ~Heartbeat() override { calls().leave(); }

  void start(bool too_many) {
    interval_ = asked_interval(context_);
    if (calls().is_stopping()) return finish(server_has_stopped());
    if (too_many) return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the task serves no further caller"});
    if (interval_.count() == 0) return finish({grpc::StatusCode::INVALID_ARGUMENT, "malformed heartbeat"});
    proof_ = calls().doorkeeper().begin_proof();
    if (proof_ && !owner_.may_prove(*this)) {
      proof_.reset();
      return finish({grpc::StatusCode::UNAUTHENTICATED, "the connection proves or has proven who it is already"});
    }
    // Comes back when the caller, or this server, ends the call; before, with what proves who calls.
    stream_.Read(&received_, end_.begin());
    if (!proof_) return admit();
    next_beat_ = Clock::now() + kTimeToProve;
  }

  Clock::time_point next_beat() const { return next_beat_; }
  bool is_proving() const { return proof_ && next_beat_ != Clock::time_point::max(); }
  const grpc::ServerContext& context() const { return context_; }

  // Unless the last one has not left yet, or the call is at its end.
  void beat(Clock::time_point now) {
    if (proof_) {
      // A stranger that says nothing more.
      next_beat_ = Clock::time_point::max();
      refusal_ = {grpc::StatusCode::UNAUTHENTICATED, "the caller has not proven who it is"};
      return context_.TryCancel();
    }
    next_beat_ = now + interval_;
    if (beat_.under_way || !end_.under_way) return;
    const std::uint64_t progress = calls().service().progress(caller_);
    const grpc::Slice told(&progress, sizeof progress);
    stream_.Write(grpc::ByteBuffer(&told, 1), beat_.begin());
  }

  // False when it is over and gone.
  bool ended(Operation& operation, bool ok) {
    operation.under_way = false;
    if (&operation == &beat_ && end_.under_way && std::exchange(first_waits_, false)) beat(Clock::now());
    if (&operation == &end_) {
      if (proof_ && ok) {
        take_proof();
      } else {
        leave();
      }
    }
    if (&operation == &finish_) {
      delete this;
      return false;
    }
    // A beat that failed says nothing: the end comes, too.
    if (!end_.under_way && !beat_.under_way) {
      finish(calls().is_stopping() ? server_has_stopped() : refusal_);
    }
    return true;
  }

 private:
  ServedCalls& calls() { return *owner_.calls_; }

  void admit() {
    calls().door().admitted(context_.peer());
    caller_ = caller_of(context_);
    if (caller_ != 0) calls().service().caller_came(caller_);
    // The caller waits for the first one; the challenge may still be on its way out.
    first_waits_ = beat_.under_way;
    beat(Clock::now());
  }

  void leave() {
    if (caller_ != 0) calls().service().caller_left(caller_);
    if (proven_) calls().doorkeeper().remove(context_.peer());
  }

  // The caller's greeting, and then its answer to the challenge; see shared_secret.h.
  void take_proof() {
    try {
      grpc::Slice bytes;
      if (!received_.DumpToSingleSlice(&bytes).ok()) throw Error(ErrorCode::DataLoss, "an empty message");
      const std::string_view said(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
      if (!challenged_) {
        const grpc::Slice challenge(proof_->challenge(said));
        challenged_ = true;
        stream_.Read(&received_, end_.begin());
        stream_.Write(grpc::ByteBuffer(&challenge, 1), beat_.begin());
        return;
      }
      calls().doorkeeper().add(context_.peer(), proof_->check(said));
      proven_ = true;
      proof_.reset();
      stream_.Read(&received_, end_.begin());
      admit();
    } catch (const Error& error) {
      next_beat_ = Clock::time_point::max();
      refusal_ = {grpc::StatusCode::UNAUTHENTICATED, error.what()};
    }
  }

  void happened(bool ok, Turn&) override {
    if (!ok) {
      delete this;
      return;
    }
    owner_.accept();
    std::lock_guard lock(owner_.mutex_);
    owner_.arrived_.push_back(this);
    owner_.changed_.notify_one();
  }

  void finish(const grpc::Status& status) { stream_.Finish(status, finish_.begin()); }

  Heartbeats& owner_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  Operation beat_{this}, end_{this}, finish_{this};
  grpc::ByteBuffer received_;
  std::optional<ServerProof> proof_;  // until it is there
  bool challenged_ = false, proven_ = false, first_waits_ = false;
  grpc::Status refusal_ = grpc::Status::CANCELLED;
  std::chrono::milliseconds interval_{0};
  std::uint64_t caller_ = 0;
  Clock::time_point next_beat_ = Clock::time_point::max();
};

Heartbeats::Heartbeats(grpc::ServerBuilder& builder)
    : method_(std::make_unique<HeartbeatMethod>()), queue_(builder.AddCompletionQueue(/*is_frequently_polled=*/false)) {
  builder.RegisterService(method_.get());
}

Heartbeats::~Heartbeats() { end(); }

void Heartbeats::start(ServedCalls& calls, ServingThreads& threads) {
  calls_ = &calls;
  accept();
  thread_ = std::thread([this, &threads] { run(threads); });
}

void Heartbeats::stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_one();
}

void Heartbeats::end() {
  if (std::exchange(ended_, true)) return;
  stop();
  queue_->Shutdown();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    while (take_events(kTick)) continue;
  }
}

void Heartbeats::accept() { new Heartbeat(*this); }

bool Heartbeats::may_prove(const Heartbeat& newcomer) {
  const std::string connection = newcomer.context().peer();
  std::optional<TaskIdentity> proven;
  if (calls_->doorkeeper().admits(newcomer.context(), proven)) return false;
  int proofs = 0;
  Heartbeat* oldest = nullptr;
  for (Heartbeat* other : beating_) {
    if (other == &newcomer || !other->is_proving()) continue;
    if (other->context().peer() == connection) return false;
    ++proofs;
    if (!oldest || other->next_beat() < oldest->next_beat()) oldest = other;
  }
  if (proofs >= kMostProofs) oldest->beat(Clock::now());
  return true;
}

// Sleeps outside gRPC: whoever waits there gets the requests of all callers first and would have to pass them on.
void Heartbeats::run(ServingThreads& threads) {
  std::vector<Heartbeat*> arrived;
  bool stopping = false;
  do {
    {
      std::unique_lock lock(mutex_);
      const Clock::time_point now = Clock::now();
      Clock::time_point next = now + kTick;
      for (const Heartbeat* heartbeat : beating_) {
        next = std::min(next, heartbeat->is_proving() ? now + kTickWhileProving : heartbeat->next_beat());
      }
      changed_.wait_until(lock, next, [this] { return stopping_ || !arrived_.empty(); });
      stopping = stopping_;
      arrived.swap(arrived_);
    }
    for (Heartbeat* heartbeat : arrived) {
      beating_.push_back(heartbeat);
      heartbeat->start(beating_.size() > static_cast<std::size_t>(calls_->limits().streams));
    }
    arrived.clear();
    const Clock::time_point now = Clock::now();
    for (Heartbeat* heartbeat : beating_) {
      if (heartbeat->next_beat() <= now && !stopping) heartbeat->beat(now);
    }
    calls_->memory().expire(now);
    threads.relieve();
  } while (take_events(stopping ? kTick : std::chrono::milliseconds(0)));
}

bool Heartbeats::take_events(std::chrono::milliseconds wait) {
  const auto deadline = wait.count() > 0 ? std::chrono::system_clock::now() + wait : kLongAgo;
  void* tag = nullptr;
  bool ok = false;
  while (true) {
    const auto status = queue_->AsyncNext(&tag, &ok, deadline);
    if (status != grpc::CompletionQueue::GOT_EVENT) return status == grpc::CompletionQueue::TIMEOUT;
    auto* operation = static_cast<Heartbeat::Operation*>(tag);
    Heartbeat* heartbeat = operation->heartbeat;
    if (!heartbeat->ended(*operation, ok)) std::erase(beating_, heartbeat);
  }
}

}  // namespace cohort::distribute::rpc
