#include "cohort/distribute/rpc/shared_call.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/ring_messages.h"
#include "cohort/distribute/rpc/served_message.h"

namespace cohort::distribute::rpc {
namespace {

// The call's end wakes whoever sleeps.
constexpr std::chrono::seconds kLongestRest{1};

// Reads a request, handles it, writes the reply, and so on, all on its thread. Goes when the
// call has been read to its end and finished.
class SharedCall : public ServedCall {
 public:
  SharedCall(ServedCalls& calls, std::unique_ptr<Line> line, std::unique_ptr<SharedRings> rings,
             std::optional<TaskIdentity> caller)
      : ServedCall(calls, std::move(line)),
        rings_(std::move(rings)),
        message_(calls.memory(), line_->context.peer(), std::move(caller), /*sums=*/false,
                 [this](const std::string& refusal) { decided(refusal); }) {
    ++calls_.streams();
    ++calls_.shared_streams();
  }
  ~SharedCall() override {
    if (thread_.joinable()) thread_.join();
    --calls_.shared_streams();
    --calls_.streams();
  }
  // Throws when there is no thread to be had.
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  std::unique_ptr<Line> take_line() { return std::move(line_); }

 private:
  void run() {
    const std::uint64_t nonce = rings_->memory().nonce();
    const grpc::Slice told(&nonce, sizeof nonce);
    line_->stream.Write(grpc::ByteBuffer(&told, 1), write_.begin());
    line_->stream.Read(&unexpected_, read_.begin());
    grpc::Status status;
    try {
      while (status.ok() && !is_over()) status = serve_one();
    } catch (const std::exception& error) {
      status = {grpc::StatusCode::DATA_LOSS, error.what()};
    }
    rings_->close();
    while (!has_written_) rings_->sleep(0, kLongestRest, [this] { return has_written_.load(); });
    finish(calls_.is_stopping() ? server_has_stopped() : status);
  }

  // One request, or the call's end.
  grpc::Status serve_one() {
    for (;;) {
      const RingMessages::Came came = messages_.take(message_.reader());
      if (came == RingMessages::Came::Message) break;
      if (came == RingMessages::Came::Asks) {
        await_memory();
        continue;
      }
      if (is_over()) return {};
      rings_->sleep(kForBytes, kLongestRest, [this] { return is_over() || messages_.has_come(); });
    }
    message_.take_request();
    grpc::Status end;
    if (is_over() || !message_.answer(calls_.service(), end)) return end;
    while (!messages_.put(message_.writer())) {
      if (is_over()) return {};
      rings_->sleep(kForRoom, kLongestRest, [this] { return is_over() || messages_.has_room(); });
    }
    return {};
  }

  void await_memory() {
    std::string refusal;
    if (message_.ask_for_memory(refusal) != MessageMemory::Answer::Later) return message_.decide(refusal);
    std::unique_lock lock(mutex_);
    decision_.wait(lock, [this] { return refusal_.has_value(); });
    message_.decide(*std::exchange(refusal_, std::nullopt));
  }
  void decided(const std::string& refusal) {
    std::lock_guard lock(mutex_);
    refusal_ = refusal;
    decision_.notify_one();
  }

  bool is_over() const { return has_ended_ || calls_.is_stopping(); }
  void have_written(bool, Turn&) {
    has_written_ = true;
    rings_->interrupt();
    over();
  }
  void have_read(bool, Turn&) {
    has_ended_ = true;
    rings_->interrupt();
    over();
  }
  void over() override {
    if (--left_ == 0) delete this;
  }

  CallOperation<SharedCall> read_{*this, &SharedCall::have_read}, write_{*this, &SharedCall::have_written};
  const std::unique_ptr<SharedRings> rings_;
  RingMessages messages_{*rings_};
  ServedMessage message_;
  grpc::ByteBuffer unexpected_;
  std::atomic<bool> has_written_ = false, has_ended_ = false;
  std::atomic<int> left_ = 3;  // the operations of the call that have not ended
  std::mutex mutex_;           // guards what the memory's keeper has decided
  std::condition_variable decision_;
  std::optional<std::string> refusal_;
  std::thread thread_;
};

}  // namespace

grpc::Status serve_shared(ServedCalls& calls, std::unique_ptr<Line>& line, std::optional<TaskIdentity> caller) {
  if (calls.shared_streams() >= calls.limits().shared_streams) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the task serves no further stream through shared memory"};
  }
  const auto& metadata = line->context.client_metadata();
  const auto offer = metadata.find(kSharedMemoryKey);
  auto rings =
      offer == metadata.end() ? nullptr : SharedRings::open(std::string(offer->second.data(), offer->second.size()));
  if (!rings) return {grpc::StatusCode::FAILED_PRECONDITION, "the caller's memory is not to be seen from here"};
  auto call = std::make_unique<SharedCall>(calls, std::move(line), std::move(rings), std::move(caller));
  try {
    call->start();
  } catch (const std::system_error&) {
    line = call->take_line();
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the task has no further thread"};
  }
  call.release();
  return {};
}

}  // namespace cohort::distribute::rpc
