#include "tests/support/delayed_transport.h"

#include <deque>
#include <thread>

namespace cohort::test {
namespace {

using namespace distribute;
using Clock = std::chrono::steady_clock;

class DelayedStream : public rpc::Stream {
 public:
  DelayedStream(std::unique_ptr<rpc::Stream> stream, std::chrono::milliseconds delay)
      : stream_(std::move(stream)), delay_(delay) {}
  void send(const Message& request) override {
    arrivals_.push_back(Clock::now() + delay_);
    stream_->send(request);
  }
  void receive(Message& reply) override {
    if (!arrivals_.empty()) {
      std::this_thread::sleep_until(arrivals_.front());
      arrivals_.pop_front();
    }
    stream_->receive(reply);
  }
  void cancel() override { stream_->cancel(); }
  const char* transport() const override { return stream_->transport(); }

 private:
  const std::unique_ptr<rpc::Stream> stream_;
  const std::chrono::milliseconds delay_;
  std::deque<Clock::time_point> arrivals_;
};

class DelayedConnection : public rpc::Connection {
 public:
  DelayedConnection(std::shared_ptr<rpc::Connection> connection, std::chrono::milliseconds delay)
      : connection_(std::move(connection)), delay_(delay) {}
  std::unique_ptr<rpc::Stream> open() override { return std::make_unique<DelayedStream>(connection_->open(), delay_); }
  bool alive() const override { return connection_->alive(); }
  std::uint64_t progress() const override { return connection_->progress(); }
  std::optional<std::chrono::nanoseconds> silence() const override { return connection_->silence(); }
  const rpc::Peer& peer() const override { return connection_->peer(); }
  const char* transport() const override { return connection_->transport(); }

 private:
  const std::shared_ptr<rpc::Connection> connection_;
  const std::chrono::milliseconds delay_;
};

}  // namespace

std::function<std::shared_ptr<rpc::Connection>(std::shared_ptr<rpc::Connection>)> delayed_transport(
    std::chrono::milliseconds delay) {
  return [delay](std::shared_ptr<rpc::Connection> connection) -> std::shared_ptr<rpc::Connection> {
    std::this_thread::sleep_for(delay);
    return std::make_shared<DelayedConnection>(std::move(connection), delay);
  };
}

}  // namespace cohort::test
