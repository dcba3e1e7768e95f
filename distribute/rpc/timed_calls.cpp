#include "cohort/distribute/rpc/timed_calls.h"

#include <algorithm>

namespace cohort::distribute::rpc {
namespace {

double as_seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::duration<double>>(duration).count();
}

}  // namespace

TimedCalls::TimedCalls(Peer peer, TransportOptions options, std::shared_ptr<StreamDeadlines> deadlines)
    : peer_(std::move(peer)), options_(std::move(options)), deadlines_(std::move(deadlines)) {}

std::shared_ptr<Stream> TimedCalls::take_stream(Clock::time_point deadline) {
  std::shared_ptr<Connection> connection;
  std::vector<std::shared_ptr<Stream>> broken;  // let go of without the lock
  {
    std::lock_guard lock(mutex_);
    if (connection_ && !connection_->alive()) broken.swap(idle_);
    if (!idle_.empty()) {
      std::shared_ptr<Stream> stream = std::move(idle_.back());
      idle_.pop_back();
      return stream;
    }
    connection = connection_;
  }
  if (!connection || !connection->alive()) {
    TransportOptions options = options_;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    options.connect_timeout = std::clamp(left, std::chrono::milliseconds(1), options.connect_timeout);
    connection = connect(peer_, options);
    std::lock_guard lock(mutex_);
    connection_ = connection;
  }
  return connection->open();
}

TimedCalls::Call TimedCalls::send(const Message& request, Clock::time_point deadline) {
  const auto begin = Clock::now();
  std::shared_ptr<Stream> stream = take_stream(deadline);
  Call call(*this, stream, begin, deadline);
  call.method_ = request.head.method;
  stream->send(request);
  return call;
}

TimedCalls::Call::Call(TimedCalls& calls, std::shared_ptr<Stream> stream, Clock::time_point begin,
                       Clock::time_point deadline)
    : calls_(&calls), stream_(std::move(stream)), begin_(begin), watch_(calls.deadlines_->watch(deadline, stream_)) {}

TimedCalls::Call::~Call() {
  if (!stream_) return;
  // Its reply may still come: it is of no use to others.
  calls_->deadlines_->forget(watch_);
  stream_->cancel();
}

void TimedCalls::Call::receive(Message& reply) {
  const std::shared_ptr<Stream> stream = std::move(stream_);
  stream_ = nullptr;
  try {
    stream->receive(reply);
  } catch (const RpcError&) {
    if (calls_->deadlines_->forget(watch_)) throw;
    throw Error(ErrorCode::DeadlineExceeded, calls_->peer_.task, "an answer is expected in time",
                {{"call", to_string(method_)}, {"seconds", as_seconds(Clock::now() - begin_)}},
                "Give it more time, or look at what it does: cohort status.");
  } catch (...) {
    // The task's own error: the stream is as good as before.
    if (calls_->deadlines_->forget(watch_)) {
      std::lock_guard lock(calls_->mutex_);
      calls_->idle_.push_back(stream);
    }
    throw;
  }
  if (!calls_->deadlines_->forget(watch_)) return;
  std::lock_guard lock(calls_->mutex_);
  calls_->idle_.push_back(stream);
}

}  // namespace cohort::distribute::rpc
