#include "cohort/distribute/rpc/grpc_stream.h"

#include <utility>

#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/rpc/grpc_link.h"
#include "cohort/distribute/rpc/request_handling.h"

namespace cohort::distribute::rpc {

GrpcStream::GrpcStream(std::shared_ptr<GrpcLink> link) : link_(std::move(link)) {
  call_ = link_->stub().PrepareCall(&context_, kMessagesMethod, &queue_);
  start_.pending = true;
  call_->StartCall(&start_);
  link_->enter(this);
}

GrpcStream::~GrpcStream() {
  link_->leave(this);
  context_.TryCancel();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) continue;
}

void GrpcStream::cancel() {
  cancelled_ = true;
  context_.TryCancel();
}

void GrpcStream::send(const Message& request) {
  // Checks the request before it counts as sent.
  writer_.begin(request);
  open_.push_back({request.head.method, Clock::now()});
  ++expected_;
  write();
}

void GrpcStream::post(const Message& message, Clock::time_point deadline) {
  const Request request{message.head.method, Clock::now()};
  posted_.head = message.head;
  posted_.head.flags |= kOneWay;
  posted_.meta = message.meta;
  posted_.parts = message.parts;
  writer_.begin(posted_);
  posted_.parts.clear();
  write(deadline);
  if (!broken_) return;
  end_call();
  throw_error(request);
}

void GrpcStream::write(Clock::time_point deadline) {
  while (!broken_ && !writer_.done()) {
    while (!broken_ && (start_.pending || write_.pending)) {
      start_read();
      step(deadline);
      if (complete_) {
        early_.emplace_back().status = reader_.status();
        reader_.give(early_.back().message);
        complete_ = false;
      }
    }
    if (broken_) return;
    writer_.next(outgoing_);
    write_.pending = true;
    call_->Write(outgoing_, &write_);
  }
}

void GrpcStream::receive(Message& reply) {
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
    while (!broken_ && !complete_) {
      start_read();
      step();
    }
    if (broken_) {
      end_call();
      throw_error(request);
    }
    complete_ = false;
    status = reader_.status();
    reader_.give(reply);
  }
  if (reply.head.incarnation != 0) link_->incarnation() = reply.head.incarnation;
  if (status != 0) throw_remote_error(link_->peer(), status, reply.meta);
}

void GrpcStream::start_read() {
  if (read_.pending || complete_ || broken_ || start_.pending || expected_ == 0) return;
  read_.pending = true;
  call_->Read(&incoming_, &read_);
}

// Waits for one operation to end; when it is too late the stream is broken.
void GrpcStream::step(Clock::time_point deadline) {
  void* tag = nullptr;
  bool ok = false;
  if (deadline == Clock::time_point::max()) {
    queue_.Next(&tag, &ok);
  } else {
    const auto left = std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - Clock::now());
    if (queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + left) == grpc::CompletionQueue::TIMEOUT) {
      late_ = broken_ = true;
      context_.TryCancel();
      return;
    }
  }
  static_cast<Operation*>(tag)->pending = false;
  if (!ok) {
    broken_ = true;
    if (tag == &read_) read_failed_ = true;
  } else if (tag == &read_ && !broken_) {
    take_chunk();
  }
}

void GrpcStream::take_chunk() {
  link_->heard();
  try {
    complete_ = read_chunk(incoming_, reader_);
  } catch (const Error& error) {
    damage_ = error.what();
    broken_ = true;
  }
  incoming_.Clear();
  if (complete_) --expected_;
}

void GrpcStream::end_call() {
  if (ended_) return;
  ended_ = true;
  if (!damage_.empty()) context_.TryCancel();
  while (start_.pending || write_.pending || read_.pending) step();
  // The status lies behind whatever the task has written before it.
  while (!read_failed_) {
    read_.pending = true;
    call_->Read(&incoming_, &read_);
    while (read_.pending) step();
  }
  finish_.pending = true;
  call_->Finish(&status_, &finish_);
  while (finish_.pending) step();
  if (status_.ok()) status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the task closed the stream");
  // One stream's damage or refusal says nothing about the others; anything else is the connection's end.
  const bool own = status_.error_code() == grpc::StatusCode::DATA_LOSS ||
                   status_.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  const bool link_is_gone = !own && damage_.empty() && !cancelled_ && !late_;
  if (link_is_gone) link_->fail(plain_reason(status_));
}

void GrpcStream::throw_error(const Request& request) {
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
