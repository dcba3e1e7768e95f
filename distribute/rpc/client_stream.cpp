#include "cohort/distribute/rpc/client_stream.h"

#include <utility>

#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/rpc/request_handling.h"

namespace cohort::distribute::rpc {

ClientStream::ClientStream(std::shared_ptr<GrpcLink> link) : link_(std::move(link)) {}

void ClientStream::send(const Message& request) {
  // Checks the request before it counts as sent.
  writer_.begin(request);
  open_.push_back({request.head.method, Clock::now()});
  ++expected_;
  if (!broken_) write(Clock::time_point::max());
}

void ClientStream::post_parts(const Message& message, Clock::time_point deadline, bool copied) {
  const Request request{message.head.method, Clock::now()};
  posted_.head = message.head;
  posted_.head.flags |= kOneWay;
  posted_.meta = message.meta;
  posted_.parts = message.parts;
  writer_.begin(posted_, /*status=*/0, copied);
  posted_.parts.clear();
  if (!broken_) write(deadline);
  if (!broken_) return;
  end();
  throw_error(request);
}

void ClientStream::put_aside() {
  early_.emplace_back().status = reader_.status();
  reader_.give(early_.back().message);
  complete_ = false;
}

void ClientStream::receive(Message& reply) {
  if (open_.empty()) {
    throw failed_precondition(link_->peer().task, "a reply is received after a request was sent");
  }
  const Request request = open_.front();
  open_.erase(open_.begin());
  std::uint32_t status = 0;
  if (!early_.empty()) {
    std::swap(reply, early_.front().message);
    status = early_.front().status;
    early_.pop_front();
  } else {
    if (!broken_ && !complete_) await_reply();
    if (broken_) {
      end();
      throw_error(request);
    }
    complete_ = false;
    status = reader_.status();
    reader_.give(reply);
  }
  if (reply.head.incarnation != 0) link_->incarnation() = reply.head.incarnation;
  if (status != 0) throw_remote_error(link_->peer(), status, reply.meta);
}

void ClientStream::is_damaged(const Error& error) {
  damage_ = error.what();
  broken_ = true;
}

void ClientStream::end() {
  if (std::exchange(ended_, true)) return;
  status_ = end_call();
  if (status_.ok()) status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the task closed the stream");
  // One stream's damage or refusal says nothing about the others; anything else is the connection's end.
  const bool own = status_.error_code() == grpc::StatusCode::DATA_LOSS ||
                   status_.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  const bool link_is_gone = !own && damage_.empty() && !cancelled_ && !late_;
  if (link_is_gone) link_->fail(plain_reason(status_));
}

void ClientStream::throw_error(const Request& request) {
  ErrorCode code = ErrorCode::Unavailable;
  std::string reason = link_->reason();
  if (cancelled_) {
    code = ErrorCode::Cancelled;
    reason = "the call was cancelled";
  } else if (late_) {
    code = ErrorCode::DeadlineExceeded;
    reason = "the task takes nothing in";
  } else if (!damage_.empty()) {
    code = ErrorCode::DataLoss;
    reason = damage_;
  } else if (status_.error_code() == grpc::StatusCode::DATA_LOSS) {
    code = ErrorCode::DataLoss;
    reason = status_.error_message();
  } else if (status_.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
    code = ErrorCode::ResourceExhausted;
    reason = status_.error_message();
  }
  throw RpcError(code, link_->peer(), link_->incarnation(), request.method, Clock::now() - request.start, reason);
}

}  // namespace cohort::distribute::rpc
