#include "cohort/distribute/rpc/carried_call.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "cohort/distribute/cluster/certificates.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/served_message.h"
#include "cohort/distribute/rpc/shared_carrier.h"
#include "cohort/distribute/rpc/socket_carrier.h"

namespace cohort::distribute::rpc {
namespace {

// The call's end wakes whoever sleeps.
constexpr std::chrono::seconds kLongestRest{1};

// What the two sides agree upon.
class Agreement {
 public:
  virtual ~Agreement() = default;
  // What the caller is told.
  virtual std::string answer() const = 0;
  // Waits for what the caller does about it; nullptr when it does not, or it is over.
  virtual std::unique_ptr<Carrier> carrier(const std::function<bool()>& is_over) = 0;
};

class SharedAgreement : public Agreement {
 public:
  explicit SharedAgreement(std::unique_ptr<SharedRings> rings) : rings_(std::move(rings)) {}
  std::string answer() const override {
    const std::uint64_t nonce = rings_->memory().nonce();
    return {reinterpret_cast<const char*>(&nonce), sizeof nonce};
  }
  std::unique_ptr<Carrier> carrier(const std::function<bool()>&) override {
    return std::make_unique<SharedCarrier>(std::move(rings_));
  }

 private:
  std::unique_ptr<SharedRings> rings_;
};

class SocketAgreement : public Agreement {
 public:
  SocketAgreement(FrontDoor& door, std::chrono::milliseconds patience)
      : door_(door),
        ticket_{random_bytes(kSocketTokenBytes), door.encrypted() ? random_bytes(kSocketKeyBytes) : std::string()},
        deadline_(std::chrono::steady_clock::now() + patience) {
    door_.expect(ticket_.token, [this](int socket) {
      std::lock_guard lock(mutex_);
      socket_ = socket;
      came_.notify_one();
    });
  }
  ~SocketAgreement() override {
    door_.expect_no_more(ticket_.token);
    if (socket_ >= 0) close(socket_);
  }
  std::string answer() const override { return ticket_.token + ticket_.key; }
  std::unique_ptr<Carrier> carrier(const std::function<bool()>& is_over) override {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    std::unique_lock lock(mutex_);
    while (socket_ < 0 && !is_over() && std::chrono::steady_clock::now() < deadline_) {
      came_.wait_for(lock, kBetweenLooks);
    }
    const int socket = std::exchange(socket_, -1);
    lock.unlock();
    if (socket < 0) return nullptr;
    auto welcomed = DataSocket::welcome(socket, ticket_.key, deadline_, is_over);
    return welcomed ? std::make_unique<SocketCarrier>(std::move(welcomed)) : nullptr;
  }

 private:
  FrontDoor& door_;
  const SocketTicket ticket_;
  const std::chrono::steady_clock::time_point deadline_;
  std::mutex mutex_;
  std::condition_variable came_;
  int socket_ = -1;  // that brought the token
};

// Reads a request, handles it, writes the reply, and so on, all on its thread. Goes when the call has been read to its
// end and finished.
class CarriedCall : public ServedCall {
 public:
  CarriedCall(ServedCalls& calls, std::unique_ptr<Line> line, std::unique_ptr<Agreement> agreement,
              std::optional<TaskIdentity> caller)
      : ServedCall(calls, std::move(line)),
        agreement_(std::move(agreement)),
        message_(calls.memory(), line_->context.peer(), std::move(caller),
                 [this](const std::string& refusal) { decided(refusal); }) {
    ++calls_.streams();
    ++calls_.carried_streams();
  }
  ~CarriedCall() override {
    if (thread_.joinable()) thread_.join();
    --calls_.carried_streams();
    --calls_.streams();
  }
  // Throws when there is no thread to be had.
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  std::unique_ptr<Line> take_line() { return std::move(line_); }

 private:
  void run() {
    const grpc::Slice answer(agreement_->answer());
    line_->stream.Write(grpc::ByteBuffer(&answer, 1), write_.begin());
    line_->stream.Read(&unexpected_, read_.begin());
    grpc::Status status;
    try {
      set_carrier(agreement_->carrier(is_over_));
      if (!carrier_) status = {grpc::StatusCode::FAILED_PRECONDITION, "nothing came to carry the stream"};
      if (carrier_) message_.reader().expect_sums(carrier_->sums());
      while (status.ok() && carrier_ && serve_one(status)) continue;
    } catch (const std::exception& error) {
      status = {grpc::StatusCode::DATA_LOSS, error.what()};
    }
    if (carrier_) carrier_->close();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return has_written_; });
    }
    finish(calls_.is_stopping() ? server_has_stopped() : status);
  }

  // One request; false at the end. What was posted before the caller ended the call counts.
  bool serve_one(grpc::Status& end) {
    for (;;) {
      if (calls_.is_stopping()) return false;
      const bool over = is_over_() || carrier_->is_closed();
      const Carrier::Came came = carrier_->take(message_.reader());
      if (came == Carrier::Came::Message) break;
      if (came == Carrier::Came::Asks) {
        await_memory();
        continue;
      }
      if (over) return is_closed(end);
      carrier_->sleep(kForBytes, kLongestRest, is_over_);
    }
    message_.take_request();
    const UnansweredRequest unanswered(calls_.requests());
    const bool one_way = (message_.request().head.flags & kOneWay) != 0;
    if (is_over_() && !one_way) return false;
    if (!message_.answer(calls_.service(), end)) return end.ok();
    while (!carrier_->put(message_.writer())) {
      if (is_over_() || carrier_->is_closed()) return is_closed(end);
      carrier_->sleep(kForRoom, kLongestRest, is_over_);
    }
    return true;
  }

  // The end of a stream whose caller may not know of it.
  bool is_closed(grpc::Status& end) const {
    if (!is_over_()) end = {grpc::StatusCode::UNAVAILABLE, "what carried the stream was closed by the peer"};
    return false;
  }

  void await_memory() {
    std::string refusal;
    if (message_.ask_for_memory(refusal) != MessageMemory::Answer::Later) return message_.decide(refusal);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return refusal_.has_value(); });
    message_.decide(*std::exchange(refusal_, std::nullopt));
  }
  void decided(const std::string& refusal) {
    std::lock_guard lock(mutex_);
    refusal_ = refusal;
    changed_.notify_one();
  }

  void set_carrier(std::unique_ptr<Carrier> carrier) {
    std::lock_guard lock(mutex_);
    carrier_ = std::move(carrier);
  }
  void have_written(bool, Turn&) {
    {
      std::lock_guard lock(mutex_);
      has_written_ = true;
      changed_.notify_one();
    }
    over();
  }
  void have_read(bool, Turn&) {
    has_ended_ = true;
    {
      std::lock_guard lock(mutex_);
      if (carrier_) carrier_->interrupt();
    }
    over();
  }
  void over() override {
    if (--left_ == 0) delete this;
  }

  CallOperation<CarriedCall> read_{*this, &CarriedCall::have_read}, write_{*this, &CarriedCall::have_written};
  const std::unique_ptr<Agreement> agreement_;
  ServedMessage message_;
  grpc::ByteBuffer unexpected_;
  std::atomic<bool> has_ended_ = false;
  const std::function<bool()> is_over_ = [this] { return has_ended_ || calls_.is_stopping(); };
  std::atomic<int> left_ = 3;  // the operations of the call that have not ended
  std::mutex mutex_;           // guards what follows, but the thread reads what it has set itself
  std::unique_ptr<Carrier> carrier_;
  bool has_written_ = false;
  std::condition_variable changed_;
  std::optional<std::string> refusal_;  // what the memory's keeper has decided
  std::thread thread_;
};

template <class MakeAgreement>
grpc::Status serve(ServedCalls& calls, std::unique_ptr<Line>& line, std::optional<TaskIdentity> caller,
                   const MakeAgreement& make) {
  if (calls.carried_streams() >= calls.limits().carried_streams) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the task serves no further stream beside gRPC"};
  }
  std::unique_ptr<Agreement> agreement = make();
  if (!agreement) return {grpc::StatusCode::FAILED_PRECONDITION, "the caller's memory is not to be seen from here"};
  auto call = std::make_unique<CarriedCall>(calls, std::move(line), std::move(agreement), std::move(caller));
  try {
    call->start();
  } catch (const std::system_error&) {
    line = call->take_line();
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the task has no further thread"};
  }
  call.release();
  return {};
}

}  // namespace

grpc::Status serve_shared(ServedCalls& calls, std::unique_ptr<Line>& line, std::optional<TaskIdentity> caller) {
  return serve(calls, line, std::move(caller), [&]() -> std::unique_ptr<Agreement> {
    if (!calls.limits().shares_memory) return nullptr;
    const auto& metadata = line->context.client_metadata();
    const auto offer = metadata.find(kSharedMemoryKey);
    auto rings =
        offer == metadata.end() ? nullptr : SharedRings::open(std::string(offer->second.data(), offer->second.size()));
    return rings ? std::make_unique<SharedAgreement>(std::move(rings)) : nullptr;
  });
}

grpc::Status serve_socket(ServedCalls& calls, std::unique_ptr<Line>& line, std::optional<TaskIdentity> caller) {
  return serve(calls, line, std::move(caller),
               [&] { return std::make_unique<SocketAgreement>(calls.door(), calls.limits().connection_patience); });
}

}  // namespace cohort::distribute::rpc
