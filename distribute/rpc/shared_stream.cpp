#include "cohort/distribute/rpc/shared_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cohort/core/log.h"

namespace cohort::distribute::rpc {
namespace {

// Tags of the call's operations.
char kCallStarted, kCallRead, kCallFinished;

// Somebody wakes who sleeps, but for a peer that does not do its part.
constexpr std::chrono::milliseconds kLongestSleep{100};
constexpr std::chrono::seconds kToTellTheStatus{1};

std::unique_ptr<SharedRings> make_rings() {
  try {
    return SharedRings::make();
  } catch (const Error& error) {
    log::debug(error.what());
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<SharedStream> SharedStream::open(const std::shared_ptr<GrpcLink>& link,
                                                 std::chrono::milliseconds longest) {
  std::unique_ptr<SharedRings> rings = make_rings();
  if (!rings) return nullptr;
  std::unique_ptr<SharedStream> stream(new SharedStream(link, std::move(rings)));
  return stream->greet(std::chrono::system_clock::now() + longest) ? std::move(stream) : nullptr;
}

SharedStream::SharedStream(std::shared_ptr<GrpcLink> link, std::unique_ptr<SharedRings> rings)
    : ClientStream(std::move(link), /*sums=*/false), rings_(std::move(rings)) {
  context_.AddMetadata(kSharedMemoryKey, rings_->memory().name());
  call_ = link_->stub().PrepareCall(&context_, kSharedMessagesMethod, &queue_);
  call_->StartCall(&kCallStarted);
  link_->enter(this);
}

SharedStream::~SharedStream() {
  link_->leave(this);
  cancel_and_drain(context_, queue_);
}

bool SharedStream::greet(CompletionDeadline deadline) {
  for (;;) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT || !ok) return false;
    if (tag == &kCallRead) break;
    call_->Read(&incoming_, &kCallRead);
  }
  std::uint64_t told = 0;
  grpc::Slice answer;
  if (incoming_.Length() != sizeof told || !incoming_.DumpToSingleSlice(&answer).ok()) return false;
  std::memcpy(&told, answer.begin(), sizeof told);
  if (told != rings_->memory().nonce()) return false;
  rings_->memory().hide();
  call_->Read(&incoming_, &kCallRead);
  reading_ = true;
  return true;
}

void SharedStream::cancel() {
  cancelled_ = true;
  abandon();
}

void SharedStream::abandon() {
  abandoned_ = true;
  context_.TryCancel();
  rings_->interrupt();
}

bool SharedStream::is_over() const { return abandoned_ || rings_->is_closed(); }

void SharedStream::look_for_end() {
  void* tag = nullptr;
  bool ok = false;
  if (reading_ && queue_.AsyncNext(&tag, &ok, kLongAgo) == grpc::CompletionQueue::GOT_EVENT) {
    reading_ = false;
    broken_ = true;
  }
}

void SharedStream::sleep(std::uint32_t reasons, Clock::time_point deadline) {
  const Clock::time_point now = Clock::now();
  const bool awaits_reply = (reasons & kForBytes) != 0, awaits_room = (reasons & kForRoom) != 0;
  const auto longest = std::min<Clock::duration>(kLongestSleep, deadline - now);
  rings_->sleep(reasons, longest, [&] {
    return is_over() || (awaits_reply && messages_.has_come()) || (awaits_room && messages_.has_room());
  });
  if (Clock::now() - now >= kLongestSleep) look_for_end();
  if (Clock::now() < deadline) return;
  late_ = broken_ = true;
  context_.TryCancel();
}

void SharedStream::take() {
  if (messages_.take(reader_) != RingMessages::Came::Message) return;
  link_->heard();
  reply_is_complete();
}

void SharedStream::write(Clock::time_point deadline) {
  try {
    while (!broken_ && !is_over() && !messages_.put(writer_)) {
      if (expected_ > 0) take();
      if (complete_) {
        put_aside();
      } else {
        sleep(expected_ > 0 ? kForRoom | kForBytes : kForRoom, deadline);
      }
    }
    broken_ = broken_ || !writer_.done();
  } catch (const Error& error) {
    is_damaged(error);
  }
}

void SharedStream::await_reply() {
  try {
    while (!broken_ && !complete_) {
      // Asked before: what the task has written before it closed counts.
      const bool over = is_over();
      if (!abandoned_) take();
      if (complete_) return;
      broken_ = broken_ || over;
      if (!broken_) sleep(kForBytes, Clock::time_point::max());
    }
  } catch (const Error& error) {
    is_damaged(error);
  }
}

grpc::Status SharedStream::end_call() {
  rings_->close();
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
