#include "cohort/distribute/rpc/repeating_stream.h"

#include <algorithm>
#include <utility>

namespace cohort::distribute::rpc {

void RepeatingStream::send(Message& request) {
  request.head.sequence = ++last_sequence_;
  stream_->send(request);
  under_way_.push_back({.message = request});
}

void RepeatingStream::receive(Message& reply) {
  if (under_way_.empty()) throw failed_precondition("RepeatingStream", "a reply is received after a request was sent");
  while (!under_way_.front().answered) {
    try {
      take_reply();
    } catch (const RpcError& error) {
      if (error.code() != ErrorCode::DeadlineExceeded) throw;
      for (const Request& request : under_way_) {
        if (!request.answered) stream_->send(request.message);
      }
    }
  }
  Request answered = std::move(under_way_.front());
  under_way_.pop_front();
  reply = std::move(answered.reply);
  if (answered.error) std::rethrow_exception(answered.error);
}

void RepeatingStream::take_reply() {
  std::exception_ptr error;
  try {
    stream_->receive(reply_);
  } catch (const RpcError&) {
    throw;
  } catch (const Error&) {
    error = std::current_exception();
  }
  const auto request = std::find_if(under_way_.begin(), under_way_.end(), [this](const Request& other) {
    return other.message.head.sequence == reply_.head.sequence;
  });
  // Replies to requests that were sent twice come twice.
  if (request == under_way_.end() || request->answered) return;
  request->answered = true;
  request->error = error;
  std::swap(request->reply, reply_);
}

}  // namespace cohort::distribute::rpc
