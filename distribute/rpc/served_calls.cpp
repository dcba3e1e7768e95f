#include "cohort/distribute/rpc/served_calls.h"

#include <memory>
#include <optional>

#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "cohort/distribute/rpc/request_handling.h"

namespace cohort::distribute::rpc {
namespace {

// An operation of a call, which is told of its end. Once an operation has begun, the call may be anybody's and may even
// be gone: beginning one is the last thing that a member function does, unless another is in flight.
template <class Call>
class CallOperation : public QueueEvent {
 public:
  using Ended = void (Call::*)(bool ok, Turn& turn);
  CallOperation(Call& call, Ended ended) : call_(call), ended_(ended) {}

 private:
  void happened(bool ok, Turn& turn) override { (call_.*ended_)(ok, turn); }
  Call& call_;
  const Ended ended_;
};

// gRPC's side of a call; it exists before anybody calls.
struct Line {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
};

// Base of calls: counts them and finishes them.
class ServedCall {
 public:
  ServedCall(ServedCalls& calls, std::unique_ptr<Line> line) : calls_(calls), line_(std::move(line)) { calls_.enter(); }
  virtual ~ServedCall() {
    ServedCalls& calls = calls_;
    line_.reset();
    calls.leave();
  }

 protected:
  void finish(const grpc::Status& status) { line_->stream.Finish(status, finish_.begin()); }
  ServedCalls& calls_;
  std::unique_ptr<Line> line_;

 private:
  void finished(bool, Turn&) { delete this; }
  CallOperation<ServedCall> finish_{*this, &ServedCall::finished};
};

class RefusedCall : public ServedCall {
 public:
  RefusedCall(ServedCalls& calls, std::unique_ptr<Line> line, const grpc::Status& why)
      : ServedCall(calls, std::move(line)) {
    finish(why);
  }
};

// Reads a request, has it handled, writes the reply, and so on: one operation is in flight at a time.
class MessagesCall : public ServedCall {
 public:
  MessagesCall(ServedCalls& calls, std::unique_ptr<Line> line, std::optional<TaskIdentity> caller)
      : ServedCall(calls, std::move(line)),
        caller_(std::move(caller)),
        share_(calls.memory(), line_->context.peer(), [this](const std::string& refusal) { decided(refusal); }) {
    ++calls_.streams();
    read();
  }
  ~MessagesCall() override { --calls_.streams(); }

 private:
  void read() { line_->stream.Read(&chunk_, read_.begin()); }

  void have_read(bool ok, Turn& turn) {
    if (!ok) return finish(calls_.is_stopping() ? server_has_stopped() : grpc::Status::OK);
    bool complete = false;
    try {
      complete = read_chunk(chunk_, reader_);
    } catch (const std::exception& error) {
      return finish({grpc::StatusCode::DATA_LOSS, error.what()});
    }
    if (reader_.wanted() > 0) return ask_for_memory();
    chunk_.Clear();
    if (!complete) return read();
    reader_.give(request_);
    if (calls_.is_stopping()) return finish(server_has_stopped());
    if (reader_.refused()) return refuse();
    calls_.service().is_quick(request_) ? turn.lend() : turn.end();
    answer();
  }

  void ask_for_memory() {
    std::string refusal;
    if (share_.take(reader_.wanted(), refusal) != MessageMemory::Answer::Later) decided(refusal);
  }

  void decided(const std::string& refusal) {
    try {
      refusal.empty() ? reader_.admit() : reader_.refuse(refusal);
      if (reader_.wants_again()) read_chunk_again(chunk_, reader_);
    } catch (const std::exception& error) {
      return finish({grpc::StatusCode::DATA_LOSS, error.what()});
    }
    chunk_.Clear();
    read();
  }

  void answer() {
    const std::uint32_t status = handle_request(calls_.service(), request_, reply_, caller_ ? &*caller_ : nullptr);
    request_.parts.clear();
    share_.release();
    if ((request_.head.flags & kOneWay) != 0) {
      reply_.parts.clear();
      // There is no other way to tell the caller that what it has sent is not taken.
      return status == 0 ? read() : finish({grpc::StatusCode::FAILED_PRECONDITION, reply_.meta});
    }
    try {
      writer_.begin(reply_, status);
    } catch (const Error& error) {
      reply_.meta = error.what();
      reply_.parts.clear();
      writer_.begin(reply_, 1 + static_cast<std::uint32_t>(error.code()));
    }
    reply_.parts.clear();
    write_or_read();
  }

  void refuse() {
    share_.release();
    if ((request_.head.flags & kOneWay) != 0) {
      return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, request_.meta});
    }
    reply_.head = {.method = request_.head.method, .sequence = request_.head.sequence};
    reply_.meta.swap(request_.meta);
    writer_.begin(reply_, reader_.status());
    write_or_read();
  }

  void write_or_read() {
    if (!writer_.next(chunk_)) return read();
    line_->stream.Write(chunk_, write_.begin());
  }

  void have_written(bool ok, Turn&) { ok ? write_or_read() : finish(grpc::Status::CANCELLED); }

  CallOperation<MessagesCall> read_{*this, &MessagesCall::have_read}, write_{*this, &MessagesCall::have_written};
  const std::optional<TaskIdentity> caller_;
  Message request_, reply_;
  MessageMemory::Share share_;  // of the request
  MessageReader reader_{/*asks=*/true};
  MessageWriter writer_;
  grpc::ByteBuffer chunk_;
};

// Waits for the next caller.
class Arrival {
 public:
  Arrival(ServedCalls& calls, grpc::AsyncGenericService& generic) : calls_(calls) {
    calls_.enter();
    Line& line = *line_;  // read before the operation begins: from then on the event's thread may take it
    grpc::ServerCompletionQueue& queue = calls_.queue();
    generic.RequestCall(&line.context, &line.stream, &queue, &queue, arrive_.begin());
  }
  ~Arrival() { calls_.leave(); }

 private:
  void arrived(bool ok, Turn&) {
    const std::unique_ptr<Arrival> ends(this);
    if (!ok) return;
    calls_.accept();
    const std::string& method = line_->context.method();
    if (method != kMessagesMethod) {
      new RefusedCall(calls_, std::move(line_), {grpc::StatusCode::UNIMPLEMENTED, "there is no such method"});
    } else if (calls_.streams() >= calls_.limits().streams) {
      new RefusedCall(calls_, std::move(line_),
                      {grpc::StatusCode::RESOURCE_EXHAUSTED,
                       "the task serves " + std::to_string(calls_.limits().streams) + " streams and no more"});
    } else if (std::optional<TaskIdentity> caller; calls_.doorkeeper().admits(line_->context, caller)) {
      new MessagesCall(calls_, std::move(line_), std::move(caller));
    } else {
      new RefusedCall(calls_, std::move(line_),
                      {grpc::StatusCode::UNAUTHENTICATED, "the caller has not proven who it is"});
    }
  }

  ServedCalls& calls_;
  std::unique_ptr<Line> line_ = std::make_unique<Line>();
  CallOperation<Arrival> arrive_{*this, &Arrival::arrived};
};

}  // namespace

ServedCalls::ServedCalls(grpc::AsyncGenericService& generic, grpc::ServerCompletionQueue& queue, Service& service,
                         const ServingLimits& limits, Doorkeeper doorkeeper)
    : generic_(generic),
      queue_(queue),
      service_(service),
      limits_(limits),
      memory_({.in_all = limits.message_bytes,
               .per_connection = limits.message_bytes_per_connection,
               .wait = limits.message_wait}),
      doorkeeper_(std::move(doorkeeper)) {}

void ServedCalls::stop() {
  stopping_ = true;
  memory_.close();
}

void ServedCalls::accept() { new Arrival(*this, generic_); }

void ServedCalls::enter() {
  std::lock_guard lock(mutex_);
  ++count_;
}

void ServedCalls::leave() {
  std::lock_guard lock(mutex_);
  if (--count_ == 0) left_.notify_all();
}

void ServedCalls::wait_for_all() {
  std::unique_lock lock(mutex_);
  left_.wait(lock, [this] { return count_ == 0; });
}

}  // namespace cohort::distribute::rpc
