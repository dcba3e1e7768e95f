#pragma once

#include <memory>

#include "cohort/distribute/collective/mailbox.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::collective {

// A channel over the network: chunks leave on a stream to the peer, and those that come are in a mailbox. As every
// Channel, for one sending and one receiving thread.
class StreamChannel : public Channel {
 public:
  // `head` says who sends. The mailbox stays as long as the channel.
  StreamChannel(rpc::Connection& connection, const Head& head, Mailbox& mailbox, const Watch& watch);
  std::span<std::byte> reserve(std::size_t bytes, Deadline deadline) override;
  void send(const CallLabel& label) override;
  void send_copy(const CallLabel& label, std::span<const std::byte> bytes, Deadline deadline) override;
  Arrived next(Deadline deadline) override;
  void release() override { mailbox_.pop(); }
  void flush() override;
  void interrupt() override;
  std::size_t largest_chunk() const override { return kStreamedChunkBytes; }
  const std::string& peer() const override { return peer_; }
  const char* transport() const override { return stream_->transport(); }

  // How a label travels.
  static void write_label(const CallLabel& label, Head& head);
  static CallLabel read_label(const Head& head);

 private:
  template <class Post>
  void post_labelled(const CallLabel& label, const Post& post);

  const std::string peer_;
  const std::unique_ptr<rpc::Stream> stream_;
  Mailbox& mailbox_;
  const Watch& watch_;
  Message message_;
  Deadline deadline_;
};

}  // namespace cohort::distribute::collective
