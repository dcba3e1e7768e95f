#include "cohort/distribute/rpc/served_calls.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "cohort/distribute/rpc/request_handling.h"

namespace cohort::distribute::rpc {
namespace {

grpc::Status server_has_stopped() { return {grpc::StatusCode::UNAVAILABLE, "the server has stopped"}; }

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
  RefusedCall(ServedCalls& calls, std::unique_ptr<Line> line) : ServedCall(calls, std::move(line)) {
    finish({grpc::StatusCode::UNIMPLEMENTED, "there is no such method"});
  }
};

// Reads a request, has it handled, writes the reply, and so on: one operation is in flight at a time.
class MessagesCall : public ServedCall {
 public:
  MessagesCall(ServedCalls& calls, std::unique_ptr<Line> line) : ServedCall(calls, std::move(line)) { read(); }

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
    chunk_.Clear();
    if (!complete) return read();
    reader_.give(request_);
    if (calls_.is_stopping()) return finish(server_has_stopped());
    if (!calls_.service().is_quick(request_)) turn.end();
    answer();
  }

  void answer() {
    const std::uint32_t status = handle_request(calls_.service(), request_, reply_);
    request_.parts.clear();
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

  void write_or_read() {
    if (!writer_.next(chunk_)) return read();
    line_->stream.Write(chunk_, write_.begin());
  }

  void have_written(bool ok, Turn&) { ok ? write_or_read() : finish(grpc::Status::CANCELLED); }

  CallOperation<MessagesCall> read_{*this, &MessagesCall::have_read}, write_{*this, &MessagesCall::have_written};
  Message request_, reply_;
  MessageReader reader_;
  MessageWriter writer_;
  grpc::ByteBuffer chunk_;
};

// The caller says once how often it wants to hear that this process is alive. Its events never end a turn, so they come
// one after the other.
class HeartbeatCall : public ServedCall {
 public:
  HeartbeatCall(ServedCalls& calls, std::unique_ptr<Line> line) : ServedCall(calls, std::move(line)) {
    line_->stream.Read(&asked_, ask_.begin());
  }

 private:
  void have_asked(bool ok, Turn&) {
    grpc::Slice text;
    if (!ok || !asked_.DumpToSingleSlice(&text).ok()) return finish(grpc::Status::CANCELLED);
    std::uint32_t milliseconds = 0;
    if (text.size() != sizeof milliseconds) return finish({grpc::StatusCode::DATA_LOSS, "malformed heartbeat"});
    std::memcpy(&milliseconds, text.begin(), sizeof milliseconds);
    interval_ = std::chrono::milliseconds(std::clamp(milliseconds, 10u, 60'000u));
    // Comes back when the caller, or this server, ends the call.
    line_->stream.Read(&unexpected_, end_.begin());
    beat();
  }

  void beat() { line_->stream.Write(asked_, beat_.begin()); }

  void have_beaten(bool ok, Turn&) {
    if (ended_) return finish_ended();
    if (!ok) {
      failed_ = true;  // the read will say so, too, and finishes then
      return;
    }
    alarm_.Set(&calls_.queue(), std::chrono::system_clock::now() + interval_, wait_.begin());
  }

  void have_waited(bool, Turn&) { ended_ ? finish_ended() : beat(); }

  void have_ended(bool, Turn&) {
    ended_ = true;
    if (failed_) return finish_ended();
    alarm_.Cancel();  // the one that is set, if any: else a beat is in flight
  }

  void finish_ended() { finish(calls_.is_stopping() ? server_has_stopped() : grpc::Status::CANCELLED); }

  CallOperation<HeartbeatCall> ask_{*this, &HeartbeatCall::have_asked}, beat_{*this, &HeartbeatCall::have_beaten},
      wait_{*this, &HeartbeatCall::have_waited}, end_{*this, &HeartbeatCall::have_ended};
  grpc::ByteBuffer asked_, unexpected_;
  grpc::Alarm alarm_;
  std::chrono::milliseconds interval_{0};
  bool failed_ = false, ended_ = false;
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
    if (method == kMessagesMethod) {
      new MessagesCall(calls_, std::move(line_));
    } else if (method == kHeartbeatMethod) {
      new HeartbeatCall(calls_, std::move(line_));
    } else {
      new RefusedCall(calls_, std::move(line_));
    }
  }

  ServedCalls& calls_;
  std::unique_ptr<Line> line_ = std::make_unique<Line>();
  CallOperation<Arrival> arrive_{*this, &Arrival::arrived};
};

}  // namespace

ServedCalls::ServedCalls(grpc::AsyncGenericService& generic, grpc::ServerCompletionQueue& queue, Service& service)
    : generic_(generic), queue_(queue), service_(service) {}

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
