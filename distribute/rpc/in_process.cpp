#include "cohort/distribute/rpc/in_process.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "cohort/distribute/rpc/reasons.h"
#include "cohort/distribute/rpc/request_handling.h"

namespace cohort::distribute::rpc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kInProcess = "in process";

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Endpoint>> endpoints;
};

// Never destroyed: listeners in static storage may outlive any static registry.
Registry& registry() {
  static Registry* registry = new Registry;
  return *registry;
}

// While it stands, the endpoint's service stays.
class Inside {
 public:
  explicit Inside(Endpoint& endpoint) : endpoint_(endpoint), entered_(endpoint.enter()) {}
  ~Inside() {
    if (entered_) endpoint_.leave();
  }
  Inside(const Inside&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  Endpoint& endpoint_;
  const bool entered_;
};

// Requests are handled on the caller's thread; parts pass as pointers.
class InProcessStream : public Stream {
 public:
  InProcessStream(Peer peer, std::shared_ptr<Endpoint> endpoint)
      : peer_(std::move(peer)), endpoint_(std::move(endpoint)) {}

  void send(const Message& request) override {
    if (waiting_ == outcomes_.size()) outcomes_.emplace_back();
    Outcome& outcome = outcomes_[waiting_++];
    outcome.method = request.head.method;
    outcome.start = Clock::now();
    const Inside inside(*endpoint_);
    outcome.lost = cancelled_ || !inside;
    if (outcome.lost) return;
    outcome.status = handle_request(endpoint_->service(), request, outcome.reply);
  }

  void receive(Message& reply) override {
    if (waiting_ == 0) throw failed_precondition(peer_.task, "a reply is received after a request was sent");
    Outcome& outcome = outcomes_.front();
    const bool cancelled = cancelled_, lost = outcome.lost;
    const std::uint32_t status = outcome.status;
    const Method method = outcome.method;
    const auto start = outcome.start;
    std::swap(reply, outcome.reply);
    outcome.reply.parts.clear();
    // Its memory goes to the back of the queue, to be used again.
    if (waiting_ > 1) std::rotate(outcomes_.begin(), outcomes_.begin() + 1, outcomes_.begin() + waiting_);
    --waiting_;
    if (cancelled || lost) {
      throw RpcError(cancelled ? ErrorCode::Cancelled : ErrorCode::Unavailable, peer_, incarnation_, method,
                     Clock::now() - start, cancelled ? "the call was cancelled" : kServerStopped);
    }
    if (status != 0) throw_remote_error(peer_, status, reply.meta);
    if (reply.head.incarnation != 0) incarnation_ = reply.head.incarnation;
  }

  void cancel() override { cancelled_ = true; }
  const char* transport() const override { return kInProcess; }

 private:
  struct Outcome {
    Method method;
    Clock::time_point start;
    bool lost;
    std::uint32_t status;
    Message reply;
  };
  Peer peer_;
  std::shared_ptr<Endpoint> endpoint_;
  std::vector<Outcome> outcomes_;  // the first `waiting_` hold replies
  std::size_t waiting_ = 0;
  std::uint64_t incarnation_ = 0;
  std::atomic<bool> cancelled_ = false;
};

class InProcessConnection : public Connection {
 public:
  InProcessConnection(Peer peer, std::shared_ptr<Endpoint> endpoint, std::uint64_t caller)
      : peer_(std::move(peer)), endpoint_(std::move(endpoint)), caller_(caller) {
    const Inside inside(*endpoint_);
    if (caller_ != 0 && inside) endpoint_->service().caller_came(caller_);
  }
  ~InProcessConnection() override {
    const Inside inside(*endpoint_);
    if (caller_ != 0 && inside) endpoint_->service().caller_left(caller_);
  }
  std::unique_ptr<Stream> open() override { return std::make_unique<InProcessStream>(peer_, endpoint_); }
  bool alive() const override { return endpoint_->is_open(); }
  std::uint64_t progress() const override {
    const Inside inside(*endpoint_);
    if (inside) last_progress_ = endpoint_->service().progress(caller_);
    return last_progress_;
  }
  const Peer& peer() const override { return peer_; }
  const char* transport() const override { return kInProcess; }

 private:
  Peer peer_;
  std::shared_ptr<Endpoint> endpoint_;
  const std::uint64_t caller_;
  mutable std::atomic<std::uint64_t> last_progress_ = 0;
};

}  // namespace

bool Endpoint::enter() {
  std::lock_guard lock(mutex_);
  if (!closed_) ++inside_;
  return !closed_;
}

void Endpoint::leave() {
  std::lock_guard lock(mutex_);
  if (--inside_ == 0) left_.notify_all();
}

void Endpoint::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [&] { return inside_ == 0; });
}

void add_endpoint(const std::string& address, std::shared_ptr<Endpoint> endpoint) {
  std::lock_guard lock(registry().mutex);
  registry().endpoints[address] = std::move(endpoint);
}

void remove_endpoint(const std::string& address) {
  std::lock_guard lock(registry().mutex);
  registry().endpoints.erase(address);
}

std::shared_ptr<Endpoint> find_endpoint(const std::string& address) {
  std::lock_guard lock(registry().mutex);
  const auto found = registry().endpoints.find(address);
  return found == registry().endpoints.end() ? nullptr : found->second;
}

std::shared_ptr<Connection> connect_in_process(const Peer& peer, std::shared_ptr<Endpoint> endpoint,
                                               std::uint64_t caller) {
  return std::make_shared<InProcessConnection>(peer, std::move(endpoint), caller);
}

}  // namespace cohort::distribute::rpc
