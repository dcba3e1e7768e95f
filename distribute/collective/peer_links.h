#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cohort/distribute/collective/communicator.h"
#include "cohort/distribute/collective/exchange.h"
#include "cohort/distribute/collective/mailbox.h"
#include "cohort/distribute/collective/shared_segment.h"
#include "cohort/distribute/collective/watch.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::collective {

// A rank's ways to all the others: a link over gRPC on which they meet, tell of their end and are known to live, and a
// channel for what calls carry. Thread-safe, but for what is said of channels.
class PeerLinks : private rpc::Service {
 public:
  // Listens, and returns when all ranks have met.
  explicit PeerLinks(const CommunicatorSetUp& set_up);
  // The others have all that was sent when it returns, and know that this rank is done.
  ~PeerLinks() override;
  PeerLinks(const PeerLinks&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  const std::string& name_of(int rank) const { return peers_[static_cast<std::size_t>(rank)]->peer.task; }
  Watch& watch() { return watch_; }
  Channels& channels() { return channels_; }
  Channel& channel(int rank) { return *channels_[static_cast<std::size_t>(rank)]; }
  // Whether no channel of this rank is over shared memory.
  bool all_streamed() const;
  // Whether all are.
  bool all_shared() const;
  // Ends the calls of all the others, as far as they can be reached.
  void tell_all(const Error& why);

 private:
  struct PeerLink {
    rpc::Peer peer;
    Mailbox mailbox;
    std::shared_ptr<rpc::Connection> connection;
    std::unique_ptr<SharedSegment> segment;  // until the channel has it
    std::mutex control_mutex;
    std::unique_ptr<rpc::Stream> control;
    std::atomic<std::uint64_t> incarnation = 0;  // that it greeted with; 0: it has not
    std::uint64_t answered = 0;                  // the one that answered our greeting
    std::atomic<bool> has_left = false;
    // When its heartbeats began to tell that it has ended, on the steady clock; 0: they do not.
    std::atomic<std::int64_t> ended_since = 0;
  };

  void handle(const Message& request, Message& reply) override;
  void check_caller(const TaskIdentity& caller, const Message& request) const override;
  bool is_quick(const Message& request) const override;
  bool takes_unread() const override { return true; }
  // Heartbeats tell the end also to who could not be told of it, for it was stopped or cut off.
  std::uint64_t progress(std::uint64_t) const override { return watch_.ended() ? 1 : 0; }
  PeerLink& sender(const Message& message);
  void take_greeting(const Message& request, Message& reply);

  void meet();
  // Each knows the other, as it is now.
  bool met(PeerLink& peer) const;
  // False when it is not there so far; `reason` says why.
  bool greet(int rank, std::chrono::milliseconds longest, std::string& reason);
  std::string awaited(const std::vector<std::string>& reasons) const;
  void make_channels();
  void look() const;
  void look_at_heartbeats(PeerLink& peer) const;
  void leave();
  Head head() const;

  const CommunicatorOptions options_;
  const std::vector<std::string> addresses_;
  const int rank_;
  const std::uint64_t incarnation_;
  Watch watch_;
  std::vector<std::unique_ptr<PeerLink>> peers_;
  Channels channels_;
  std::mutex mutex_;  // guards segments, channels while they are made, and what follows
  std::condition_variable greeted_;
  std::optional<Error> refusal_;             // of a greeting
  std::unique_ptr<rpc::Listener> listener_;  // last: it uses the rest
};

}  // namespace cohort::distribute::collective
