#include "cohort/distribute/rpc/grpc_stream.h"

#include <utility>

#include "cohort/distribute/rpc/grpc_link.h"

namespace cohort::distribute::rpc {

GrpcStream::GrpcStream(std::shared_ptr<GrpcLink> link) : ClientStream(std::move(link)) {
  call_ = link_->stub().PrepareCall(&context_, kMessagesMethod, &queue_);
  start_.pending = true;
  call_->StartCall(&start_);
  link_->enter(this);
}

GrpcStream::~GrpcStream() {
  link_->leave(this);
  cancel_and_drain(context_, queue_);
}

void GrpcStream::cancel() {
  cancelled_ = true;
  context_.TryCancel();
}

void GrpcStream::write(Clock::time_point deadline) {
  while (!broken_ && !writer_.done()) {
    writer_.next(outgoing_);
    while (!broken_ && (start_.pending || write_.pending)) {
      start_read();
      step(deadline);
      if (complete_) put_aside();
    }
    if (broken_) return;
    write_.pending = true;
    call_->Write(outgoing_, &write_);
  }
}

void GrpcStream::await_reply() {
  while (!broken_ && !complete_) {
    start_read();
    step();
  }
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
    if (read_chunk(incoming_, reader_)) reply_is_complete();
  } catch (const Error& error) {
    is_damaged(error);
  }
  incoming_.Clear();
}

grpc::Status GrpcStream::end_call() {
  if (!damage_.empty()) context_.TryCancel();
  while (start_.pending || write_.pending || read_.pending) step();
  // The status lies behind whatever the task has written before it.
  while (!read_failed_) {
    read_.pending = true;
    call_->Read(&incoming_, &read_);
    while (read_.pending) step();
  }
  grpc::Status status;
  finish_.pending = true;
  call_->Finish(&status, &finish_);
  while (finish_.pending) step();
  return status;
}

}  // namespace cohort::distribute::rpc
