#include "cohort/distribute/rpc/reliable_stream.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace cohort::distribute::rpc {
namespace {

constexpr std::chrono::milliseconds kFirstPause{5}, kLongestPause{200};

std::uint64_t next_sequence() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

ReliableStream::ReliableStream(std::shared_ptr<Connection> connection, RetryBudget budget)
    : peer_(connection->peer()), budget_(std::move(budget)), connection_(std::move(connection)) {}

ReliableStream::ReliableStream(Peer peer, TransportOptions options, RetryBudget budget)
    : peer_(std::move(peer)), options_(std::move(options)), budget_(std::move(budget)) {}

void ReliableStream::send(Message& request) {
  if (under_way_) throw failed_precondition(peer().task, "one request is under way at a time");
  request.head.sequence = next_sequence();
  request_ = request;
  start_ = last_heard_ = Clock::now();
  refused_since_ = {};
  next_pause_ = {};
  under_way_ = true;
  sent_ = false;
  if (cancelled_) return;
  try {
    send_again(/*reopen=*/!stream_);
  } catch (const RpcError&) {
    // Nobody there yet: receive() tries on.
  } catch (...) {
    under_way_ = false;
    request_.parts.clear();
    throw;
  }
}

void ReliableStream::send_again(bool reopen) {
  if (reopen) {
    if (!connection_) connection_ = connect(peer_, options_);
    std::unique_ptr<Stream> opened = connection_->open();
    std::lock_guard lock(mutex_);
    stream_ = std::move(opened);
    if (cancelled_) stream_->cancel();
  }
  stream_->send(request_);
  sent_ = true;
}

void ReliableStream::pause() {
  std::this_thread::sleep_for(next_pause_);
  next_pause_ = std::clamp(2 * next_pause_, kFirstPause, kLongestPause);
}

// A long transfer is no silence: what counts is the time since the task was last heard of.
bool ReliableStream::is_spent(const RpcError& error) {
  const Clock::time_point now = Clock::now();
  if (budget_.given_up && budget_.given_up()) return true;
  if (!error.refused()) {
    refused_since_ = {};
  } else if (refused_since_ == Clock::time_point{}) {
    refused_since_ = now;
  } else if (now - refused_since_ >= budget_.refused) {
    return true;
  }
  // Damage is no matter of time to pass, however alive the task is.
  if (connection_ && error.code() == ErrorCode::Unavailable) {
    if (const auto silence = connection_->silence()) {
      last_heard_ = std::max(last_heard_, now - std::chrono::duration_cast<Clock::duration>(*silence));
    }
  }
  return now - last_heard_ >= budget_.silence;
}

void ReliableStream::throw_cancelled() const {
  throw RpcError(ErrorCode::Cancelled, peer(), 0, request_.head.method, Clock::now() - start_,
                 "the call was cancelled");
}

void ReliableStream::receive(Message& reply) {
  if (!under_way_) throw failed_precondition(peer().task, "a reply is received after a request was sent");
  // The task's own error ends the call as a reply does.
  struct Finish {
    ReliableStream& stream;
    ~Finish() {
      stream.under_way_ = false;
      stream.request_.parts.clear();
    }
  } finish{*this};
  bool resend = !sent_, reopen = !sent_;
  while (true) {
    if (cancelled_) throw_cancelled();
    try {
      if (resend) {
        if (reopen) pause();
        ++repeats_;
        if (budget_.repeats) budget_.repeats->fetch_add(1, std::memory_order_relaxed);
        send_again(reopen);
        resend = reopen = false;
      }
      stream_->receive(reply);
      // Replies to requests that were sent twice come twice.
      if (reply.head.sequence == request_.head.sequence) return;
    } catch (const RpcError& error) {
      if (error.code() == ErrorCode::Cancelled || is_spent(error)) throw;
      resend = true;
      reopen = reopen || error.code() != ErrorCode::DeadlineExceeded;
    } catch (const Error&) {
      if (reply.head.sequence == request_.head.sequence) throw;
    }
  }
}

void ReliableStream::cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (stream_) stream_->cancel();
}

}  // namespace cohort::distribute::rpc
