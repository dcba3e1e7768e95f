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

ReliableStream::ReliableStream(std::shared_ptr<Connection> connection, std::chrono::milliseconds give_up_after)
    : connection_(std::move(connection)), give_up_after_(give_up_after) {}

void ReliableStream::send(Message& request) {
  if (under_way_) throw failed_precondition(peer().task, "one request is under way at a time");
  request.head.sequence = next_sequence();
  request_ = request;
  start_ = Clock::now();
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
        send_again(reopen);
        resend = reopen = false;
      }
      stream_->receive(reply);
      // Replies to requests that were sent twice come twice.
      if (reply.head.sequence == request_.head.sequence) return;
    } catch (const RpcError& error) {
      if (error.code() == ErrorCode::Cancelled || Clock::now() - start_ >= give_up_after_) throw;
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
