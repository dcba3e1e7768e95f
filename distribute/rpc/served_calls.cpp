#include "cohort/distribute/rpc/served_calls.h"

#include <memory>
#include <optional>
#include <thread>

#include "cohort/distribute/rpc/carried_call.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/served_call.h"
#include "cohort/distribute/rpc/served_message.h"

namespace cohort::distribute::rpc {
namespace {

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
        message_(calls.memory(), line_->context.peer(), std::move(caller),
                 [this](const std::string& refusal) { decided(refusal); }) {
    ++calls_.streams();
    read();
  }
  ~MessagesCall() override { --calls_.streams(); }

 private:
  void read() { line_->stream.Read(&chunk_, read_.begin()); }

  void have_read(bool ok, Turn& turn) {
    if (!ok) return finish(calls_.is_stopping() ? server_has_stopped() : grpc::Status::OK);
    if (calls_.service().takes_unread() && message_.set_aside(chunk_)) return have_request(turn);
    bool complete = false;
    try {
      complete = read_chunk(chunk_, message_.reader());
    } catch (const std::exception& error) {
      return finish({grpc::StatusCode::DATA_LOSS, error.what()});
    }
    if (message_.reader().wanted() > 0) return ask_for_memory();
    chunk_.Clear();
    if (!complete) return read();
    message_.take_request();
    have_request(turn);
  }

  void have_request(Turn& turn) {
    if (calls_.is_stopping()) return finish(server_has_stopped());
    unanswered_.emplace(calls_.requests());
    if (!message_.refused()) calls_.service().is_quick(message_.request()) ? turn.lend() : turn.end();
    answer();
  }

  void ask_for_memory() {
    std::string refusal;
    if (message_.ask_for_memory(refusal) != MessageMemory::Answer::Later) decided(refusal);
  }

  void decided(const std::string& refusal) {
    try {
      message_.decide(refusal);
      if (message_.reader().wants_again()) read_chunk_again(chunk_, message_.reader());
    } catch (const std::exception& error) {
      return finish({grpc::StatusCode::DATA_LOSS, error.what()});
    }
    chunk_.Clear();
    read();
  }

  void answer() {
    grpc::Status end;
    if (message_.answer(calls_.service(), end)) return write_or_read();
    unanswered_.reset();
    end.ok() ? read() : finish(end);
  }

  void write_or_read() {
    if (!message_.writer().next(chunk_)) {
      unanswered_.reset();
      return read();
    }
    line_->stream.Write(chunk_, write_.begin());
  }

  void have_written(bool ok, Turn&) { ok ? write_or_read() : finish(grpc::Status::CANCELLED); }

  CallOperation<MessagesCall> read_{*this, &MessagesCall::have_read}, write_{*this, &MessagesCall::have_written};
  ServedMessage message_;
  std::optional<UnansweredRequest> unanswered_;
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
    const bool shared = method == kSharedMessagesMethod, carried = shared || method == kSocketMessagesMethod;
    if (method != kMessagesMethod && !carried) {
      new RefusedCall(calls_, std::move(line_), {grpc::StatusCode::UNIMPLEMENTED, "there is no such method"});
    } else if (calls_.streams() >= calls_.limits().streams) {
      new RefusedCall(calls_, std::move(line_),
                      {grpc::StatusCode::RESOURCE_EXHAUSTED,
                       "the task serves " + std::to_string(calls_.limits().streams) + " streams and no more"});
    } else if (std::optional<TaskIdentity> caller; !calls_.doorkeeper().admits(line_->context, caller)) {
      new RefusedCall(calls_, std::move(line_),
                      {grpc::StatusCode::UNAUTHENTICATED, "the caller has not proven who it is"});
    } else if (calls_.door().admitted(line_->context.peer()); carried) {
      const grpc::Status refusal = (shared ? serve_shared : serve_socket)(calls_, line_, std::move(caller));
      if (!refusal.ok()) new RefusedCall(calls_, std::move(line_), refusal);
    } else {
      new MessagesCall(calls_, std::move(line_), std::move(caller));
    }
  }

  ServedCalls& calls_;
  std::unique_ptr<Line> line_ = std::make_unique<Line>();
  CallOperation<Arrival> arrive_{*this, &Arrival::arrived};
};

}  // namespace

ServedCalls::ServedCalls(grpc::AsyncGenericService& generic, grpc::ServerCompletionQueue& queue, Service& service,
                         const ServingLimits& limits, Doorkeeper doorkeeper, FrontDoor& door)
    : generic_(generic),
      queue_(queue),
      service_(service),
      limits_(limits),
      memory_({.in_all = limits.message_bytes,
               .per_connection = limits.message_bytes_per_connection,
               .wait = limits.message_wait}),
      doorkeeper_(std::move(doorkeeper)),
      door_(door) {}

void ServedCalls::await_answers(std::chrono::steady_clock::time_point until) const {
  constexpr std::chrono::milliseconds kBetweenLooks{2}, kToLeave{20};
  while (requests_ > 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kBetweenLooks);
  // What gRPC has taken leaves this process a little later.
  std::this_thread::sleep_for(kToLeave);
}

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
