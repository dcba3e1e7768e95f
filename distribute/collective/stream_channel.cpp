#include "cohort/distribute/collective/stream_channel.h"

#include <algorithm>

#include "cohort/core/device.h"

namespace cohort::distribute::collective {

StreamChannel::StreamChannel(rpc::Connection& connection, const Head& head, Mailbox& mailbox, const Watch& watch)
    : peer_(connection.peer().task), stream_(connection.open()), mailbox_(mailbox), watch_(watch) {
  message_.head = head;
  message_.head.method = Method::Exchange;
  message_.parts.resize(1);
}

void StreamChannel::write_label(const CallLabel& label, Head& head) {
  head.sequence = label.sequence;
  head.version = label.bytes;
  head.step = std::uint64_t{label.dtype} << 16 | static_cast<std::uint64_t>(label.kind);
  head.round = label.root;
}

CallLabel StreamChannel::read_label(const Head& head) {
  return {.sequence = head.sequence,
          .bytes = head.version,
          .kind = static_cast<CallKind>(head.step & 0xffff),
          .dtype = static_cast<std::uint16_t>(head.step >> 16),
          .root = head.round};
}

std::span<std::byte> StreamChannel::reserve(std::size_t bytes, Deadline deadline) {
  deadline_ = deadline;
  // What the network still has keeps its memory, and this becomes another.
  Tensor& chunk = message_.parts.front();
  chunk.renew(DType::UInt8, {static_cast<std::int64_t>(bytes)}, cpu());
  return {static_cast<std::byte*>(chunk.raw()), bytes};
}

template <class Post>
void StreamChannel::post_labelled(const CallLabel& label, const Post& post) {
  write_label(label, message_.head);
  try {
    post();
  } catch (const rpc::RpcError&) {
    // Why the stream ended is what the watch knows, unless nobody has noticed so far.
    watch_.check(peer_, deadline_);
    throw;
  }
}

void StreamChannel::send(const CallLabel& label) {
  post_labelled(label, [this] { stream_->post(message_, deadline_); });
}

// Small parts are packed, and so copied, in any case.
void StreamChannel::send_copy(const CallLabel& label, std::span<const std::byte> bytes, Deadline deadline) {
  deadline_ = deadline;
  message_.parts.front() =
      Tensor::from_blob(const_cast<std::byte*>(bytes.data()), DType::UInt8, {static_cast<std::int64_t>(bytes.size())});
  post_labelled(label, [this] { stream_->post_copy(message_, deadline_); });
}

Channel::Arrived StreamChannel::next(Deadline deadline) {
  for (;;) {
    const bool left_before = has_left();
    if (mailbox_.wait(std::min(deadline, std::chrono::steady_clock::now() + Watch::kPause))) break;
    if (left_before) throw_left();
    watch_.check(peer_, deadline);
  }
  const Mailbox::Letter& letter = mailbox_.front();
  if (letter.unread) return {letter.label, {}, letter.unread.get()};
  return {letter.label, {static_cast<const std::byte*>(letter.bytes.raw()), letter.bytes.bytes()}};
}

// A stream is ordered: what is answered has come behind all the rest.
void StreamChannel::flush() {
  Message request, reply;
  request.head = message_.head;
  stream_->call(request, reply);
}

void StreamChannel::interrupt() {
  mailbox_.interrupt();
  if (watch_.ended()) stream_->cancel();
}

}  // namespace cohort::distribute::collective
