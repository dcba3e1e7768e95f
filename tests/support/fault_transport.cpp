#include "tests/support/fault_transport.h"

#include <deque>
#include <exception>
#include <random>
#include <thread>
#include <utility>

namespace cohort::test {
namespace {

using namespace distribute::rpc;
using distribute::Message;
using distribute::Method;
using Clock = std::chrono::steady_clock;

// Deals with one request at a time: what comes of it waits in a queue for receive().
class FaultStream : public Stream {
 public:
  FaultStream(std::unique_ptr<Stream> inner, Peer peer, const Faults& faults, std::shared_ptr<FaultCounts> counts,
              std::uint64_t seed)
      : inner_(std::move(inner)), peer_(std::move(peer)), faults_(faults), counts_(std::move(counts)), random_(seed) {}

  void send(const Message& request) override {
    last_ = request.head.method;
    start_ = Clock::now();
    if (broken_) return;
    if (happens(faults_.disconnect, counts_->disconnects)) {
      if (std::bernoulli_distribution(0.5)(random_)) deliver(request, /*heard=*/false);
      broken_ = true;
      return;
    }
    if (happens(faults_.drop_request, counts_->dropped_requests)) {
      if (happens(faults_.late, counts_->late)) late_.push_back(copy_of(request));
      return;
    }
    deliver(request, !happens(faults_.drop_reply, counts_->dropped_replies));
    if (happens(faults_.duplicate, counts_->duplicates)) deliver(request, true);
    while (!late_.empty()) {
      deliver(late_.front(), true);
      late_.pop_front();
    }
    if (happens(faults_.late, counts_->late)) late_.push_back(copy_of(request));
  }

  void receive(Message& reply) override {
    if (outcomes_.empty()) {
      if (broken_) throw error(ErrorCode::Unavailable, "connection closed by a test");
      std::this_thread::sleep_for(faults_.timeout);
      throw error(ErrorCode::DeadlineExceeded, "no reply in time");
    }
    Outcome outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    reply = std::move(outcome.reply);
    if (outcome.thrown) std::rethrow_exception(outcome.thrown);
  }

  void cancel() override { inner_->cancel(); }
  const char* transport() const override { return inner_->transport(); }

 private:
  struct Outcome {
    Message reply;
    std::exception_ptr thrown;
  };

  bool happens(double probability, std::atomic<int>& count) {
    const bool does = std::bernoulli_distribution(probability)(random_);
    if (does) ++count;
    return does;
  }

  void deliver(const Message& request, bool heard) {
    Outcome outcome;
    try {
      inner_->call(request, outcome.reply);
    } catch (...) {
      outcome.thrown = std::current_exception();
    }
    if (heard) outcomes_.push_back(std::move(outcome));
  }

  // Its sender may change what the parts point to before it is used.
  static Message copy_of(const Message& request) {
    Message copy = request;
    for (Tensor& part : copy.parts) {
      if (part.defined()) part = part.clone();
    }
    return copy;
  }

  RpcError error(ErrorCode code, const char* reason) const {
    return RpcError(code, peer_, 0, last_, Clock::now() - start_, reason);
  }

  std::unique_ptr<Stream> inner_;
  Peer peer_;
  Faults faults_;
  std::shared_ptr<FaultCounts> counts_;
  std::mt19937_64 random_;
  std::deque<Outcome> outcomes_;
  std::deque<Message> late_;
  Method last_ = Method::Echo;
  Clock::time_point start_;
  bool broken_ = false;
};

class FaultConnection : public Connection {
 public:
  FaultConnection(std::shared_ptr<Connection> inner, const Faults& faults, std::shared_ptr<FaultCounts> counts,
                  std::shared_ptr<std::atomic<std::uint64_t>> opened)
      : inner_(std::move(inner)), faults_(faults), counts_(std::move(counts)), opened_(std::move(opened)) {}
  std::unique_ptr<Stream> open() override {
    const std::uint64_t seed = faults_.seed * 0x9e3779b97f4a7c15u + ++*opened_;
    return std::make_unique<FaultStream>(inner_->open(), inner_->peer(), faults_, counts_, seed);
  }
  bool alive() const override { return inner_->alive(); }
  std::uint64_t progress() const override { return inner_->progress(); }
  const Peer& peer() const override { return inner_->peer(); }
  const char* transport() const override { return inner_->transport(); }

 private:
  std::shared_ptr<Connection> inner_;
  Faults faults_;
  std::shared_ptr<FaultCounts> counts_;
  std::shared_ptr<std::atomic<std::uint64_t>> opened_;
};

}  // namespace

std::function<std::shared_ptr<Connection>(std::shared_ptr<Connection>)> fault_transport(
    const Faults& faults, std::shared_ptr<FaultCounts> counts) {
  if (!counts) counts = std::make_shared<FaultCounts>();
  auto opened = std::make_shared<std::atomic<std::uint64_t>>(0);
  return [=](std::shared_ptr<Connection> inner) {
    return std::make_shared<FaultConnection>(std::move(inner), faults, counts, opened);
  };
}

}  // namespace cohort::test
