#include "cohort/distribute/rpc/carried_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/distribute/rpc/shared_carrier.h"
#include "cohort/distribute/rpc/socket_carrier.h"

namespace cohort::distribute::rpc {
namespace {

// Tags of the call's operations.
char kCallStarted, kCallRead, kCallFinished;

// Somebody wakes who sleeps, but for a peer that does not do its part.
constexpr std::chrono::milliseconds kLongestSleep{100};
constexpr std::chrono::seconds kToTellTheStatus{1};
// Systems ask each other once a second.
constexpr std::chrono::milliseconds kShortestSilence{4000};

std::unique_ptr<SharedRings> make_rings() {
  try {
    return SharedRings::make();
  } catch (const Error& error) {
    log::debug(error.what());
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Stream> open_shared_stream(const std::shared_ptr<GrpcLink>& link, std::chrono::milliseconds longest) {
  std::unique_ptr<SharedRings> rings = make_rings();
  if (!rings) return nullptr;
  std::unique_ptr<CarriedStream> stream(
      new CarriedStream(link, "shared memory", kSharedMessagesMethod, rings->memory().name()));
  const std::string answer = stream->await_answer(std::chrono::system_clock::now() + longest);
  std::uint64_t told = 0;
  if (answer.size() != sizeof told) return nullptr;
  std::memcpy(&told, answer.data(), sizeof told);
  if (told != rings->memory().nonce()) return nullptr;
  rings->memory().hide();
  stream->start(std::make_unique<SharedCarrier>(std::move(rings)));
  return stream;
}

std::unique_ptr<Stream> open_socket_stream(const std::shared_ptr<GrpcLink>& link, std::chrono::milliseconds longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  std::unique_ptr<CarriedStream> stream(new CarriedStream(link, "TCP", kSocketMessagesMethod, ""));
  const std::string answer = stream->await_answer(std::chrono::system_clock::now() + longest);
  const bool encrypted = answer.size() == kSocketTokenBytes + kSocketKeyBytes;
  // Who has an encrypted link does not leave it.
  if (!encrypted && (answer.size() != kSocketTokenBytes || link->is_encrypted())) return nullptr;
  const SocketTicket ticket{answer.substr(0, kSocketTokenBytes), answer.substr(kSocketTokenBytes)};
  try {
    std::unique_ptr<DataSocket> socket = DataSocket::call(stream->where(), ticket, deadline);
    if (!socket) return nullptr;
    stream->start(std::make_unique<SocketCarrier>(std::move(socket)));
    return stream;
  } catch (const Error& error) {
    log::debug(error.what());  // OpenSSL does not know what it takes
    return nullptr;
  }
}

CarriedStream::CarriedStream(std::shared_ptr<GrpcLink> link, const char* transport, const char* method,
                             const std::string& offer)
    : ClientStream(std::move(link)), transport_(transport) {
  if (!offer.empty()) context_.AddMetadata(kSharedMemoryKey, offer);
  call_ = link_->stub().PrepareCall(&context_, method, &queue_);
  call_->StartCall(&kCallStarted);
}

CarriedStream::~CarriedStream() {
  if (carrier_) link_->leave(this);
  cancel_and_drain(context_, queue_);
}

std::string CarriedStream::await_answer(CompletionDeadline deadline) {
  for (;;) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT || !ok) return {};
    if (tag == &kCallRead) break;
    call_->Read(&incoming_, &kCallRead);
  }
  grpc::Slice answer;
  if (!incoming_.DumpToSingleSlice(&answer).ok()) return {};
  return {reinterpret_cast<const char*>(answer.begin()), answer.size()};
}

void CarriedStream::start(std::unique_ptr<Carrier> carrier) {
  carrier_ = std::move(carrier);
  reader_.expect_sums(carrier_->sums());
  reading_ = true;
  call_->Read(&incoming_, &kCallRead);
  link_->enter(this);
}

void CarriedStream::cancel() {
  cancelled_ = true;
  abandon();
}

void CarriedStream::abandon() {
  abandoned_ = true;
  context_.TryCancel();
  carrier_->interrupt();
}

void CarriedStream::look_for_end() {
  void* tag = nullptr;
  bool ok = false;
  if (reading_ && queue_.AsyncNext(&tag, &ok, kLongAgo) == grpc::CompletionQueue::GOT_EVENT) {
    reading_ = false;
    broken_ = true;
    if (ok) context_.TryCancel();  // a second message is none of this protocol
  }
  // The link's heartbeats take another way.
  if (!carrier_->is_silent(std::max(link_->dead_after(), kShortestSilence))) return;
  link_->fail("nothing is acknowledged on a stream's own connection");
  broken_ = true;
}

void CarriedStream::sleep(std::uint32_t reasons, Clock::time_point deadline) {
  const Clock::time_point now = Clock::now();
  carrier_->sleep(reasons, std::min<Clock::duration>(kLongestSleep, deadline - now), is_over_);
  if (Clock::now() - now >= kLongestSleep) look_for_end();
  if (Clock::now() < deadline) return;
  late_ = broken_ = true;
  context_.TryCancel();
}

void CarriedStream::take() {
  if (carrier_->take(reader_) != Carrier::Came::Message) return;
  link_->heard();
  reply_is_complete();
}

// What goes wrong in the middle of a message ends the stream.
template <class Move>
void CarriedStream::guard(const Move& move) {
  try {
    move();
  } catch (const Error& error) {
    is_damaged(error);
  } catch (...) {
    broken_ = true;
    throw;
  }
}

void CarriedStream::write(Clock::time_point deadline) {
  guard([&] {
    while (!broken_) {
      if (is_over_()) {
        broken_ = true;
      } else if (carrier_->put(writer_)) {
        return;
      } else if (expected_ > 0 && (take(), complete_)) {
        put_aside();
      } else {
        sleep(expected_ > 0 ? kForRoom | kForBytes : kForRoom, deadline);
      }
    }
  });
}

void CarriedStream::await_reply() {
  guard([&] {
    while (!broken_ && !complete_) {
      // Asked before: what the task has written before it closed counts.
      const bool over = is_over_();
      if (!abandoned_) take();
      if (complete_) return;
      broken_ = broken_ || over;
      if (!broken_) sleep(kForBytes, Clock::time_point::max());
    }
  });
}

grpc::Status CarriedStream::end_call() {
  carrier_->close();
  if (!damage_.empty()) context_.TryCancel();
  void* tag = nullptr;
  bool ok = false;
  if (reading_ && queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kToTellTheStatus) !=
                      grpc::CompletionQueue::GOT_EVENT) {
    context_.TryCancel();
    queue_.Next(&tag, &ok);
  }
  reading_ = false;
  if (ok) context_.TryCancel();  // a second message is none of this protocol
  grpc::Status status;
  call_->Finish(&status, &kCallFinished);
  queue_.Next(&tag, &ok);
  return status;
}

}  // namespace cohort::distribute::rpc
