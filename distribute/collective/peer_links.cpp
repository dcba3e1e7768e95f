#include "cohort/distribute/collective/peer_links.h"

#include <algorithm>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/cluster/transport_choice.h"
#include "cohort/distribute/collective/greeting.h"
#include "cohort/distribute/collective/stream_channel.h"
#include "cohort/distribute/protocol/message_flags.h"

namespace cohort::distribute::collective {
namespace {

constexpr std::chrono::milliseconds kToTellTheEnd{1000};

// How a rank is called.
std::string called(const CommunicatorSetUp& set_up, int rank) {
  return set_up.names.empty() ? task_name(set_up.options.job, rank) : set_up.names[static_cast<std::size_t>(rank)];
}

CommunicatorSetUp checked_set_up(const CommunicatorSetUp& set_up) {
  const int size = static_cast<int>(set_up.addresses.size());
  if (set_up.rank < 0 || set_up.rank >= size) {
    throw invalid_argument("Communicator", "rank must be one of the addresses'",
                           {{"rank", set_up.rank}, {"size", size}});
  }
  check_transport("Communicator", set_up.options.transport);
  if (!set_up.names.empty() && set_up.names.size() != set_up.addresses.size()) {
    throw invalid_argument("Communicator", "all ranks have names, or none",
                           {{"names", set_up.names.size()}, {"size", size}});
  }
  return set_up;
}

}  // namespace

PeerLinks::PeerLinks(const CommunicatorSetUp& set_up)
    : options_(checked_set_up(set_up).options),
      addresses_(set_up.addresses),
      rank_(set_up.rank),
      incarnation_(new_identity()),
      watch_(called(set_up, rank_)) {
  for (std::size_t rank = 0; rank < addresses_.size(); ++rank) {
    peers_.push_back(std::make_unique<PeerLink>());
    peers_.back()->peer = {called(set_up, static_cast<int>(rank)), addresses_[rank]};
  }
  channels_.resize(peers_.size());
  watch_.set_look([this] { look(); });
  watch_.set_wake([this] {
    std::lock_guard lock(mutex_);  // channels are being made, perhaps
    for (const auto& channel : channels_) {
      if (channel) channel->interrupt();
    }
  });
  if (size() == 1) return;
  const std::string& address = addresses_[static_cast<std::size_t>(rank_)];
  listener_ = std::make_unique<rpc::Listener>(set_up.listens_at.empty() ? address : set_up.listens_at,
                                              static_cast<rpc::Service&>(*this), watch_.who(), rpc::ServingLimits{},
                                              options_.security.get());
  try {
    meet();
    make_channels();
  } catch (...) {
    for (const auto& peer : peers_) peer->mailbox.close();
    listener_->stop();
    throw;
  }
}

PeerLinks::~PeerLinks() {
  if (!listener_) return;
  leave();
  for (const auto& peer : peers_) peer->mailbox.close();
  listener_->stop();
}

Head PeerLinks::head() const { return {.incarnation = incarnation_, .closure = static_cast<std::uint64_t>(rank_)}; }

void PeerLinks::look() const {
  for (const auto& peer : peers_) {
    if (!peer->connection) continue;
    // Asked in this order: who has left may close its link.
    const bool alive = peer->connection->alive();
    if (peer->has_left) continue;
    if (!alive) {
      throw Error(ErrorCode::Unavailable, "Communicator", "every worker stays until the others need it no more",
                  {{"lost", peer->peer.task}, {"address", peer->peer.address}}, "Start the job again.");
    }
    look_at_heartbeats(*peer);
  }
}

// Why it has ended is on its way, as a rule, and says more.
void PeerLinks::look_at_heartbeats(PeerLink& peer) const {
  if (peer.connection->progress() == 0) return;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::int64_t since = 0;
  if (peer.ended_since.compare_exchange_strong(since, now)) return;
  if (std::chrono::steady_clock::duration(now - since) < kToTellTheEnd) return;
  throw Error(ErrorCode::Unavailable, "Communicator", "every worker stays until the others need it no more",
              {{"ended without us", peer.peer.task}, {"address", peer.peer.address}}, "Start the job again.");
}

bool PeerLinks::all_streamed() const {
  return std::none_of(channels_.begin(), channels_.end(),
                      [](const auto& channel) { return channel && channel->largest_chunk() < kStreamedChunkBytes; });
}
bool PeerLinks::all_shared() const {
  return std::none_of(channels_.begin(), channels_.end(),
                      [](const auto& channel) { return channel && channel->largest_chunk() >= kStreamedChunkBytes; });
}

void PeerLinks::tell_all(const Error& why) {
  Message message;
  message.head = head();
  message.head.method = Method::Cancel;
  message.head.step = static_cast<std::uint64_t>(why.code());
  message.meta = why.what();
  for (const auto& peer : peers_) {
    std::lock_guard lock(peer->control_mutex);
    if (!peer->control || peer->has_left || !peer->connection->alive()) continue;
    try {
      peer->control->post(message, std::chrono::steady_clock::now() + kToTellTheEnd);
    } catch (const Error&) {
      // Who is gone itself needs no word.
    }
  }
}

void PeerLinks::leave() {
  Message message, reply;
  message.head = head();
  message.head.method = Method::EndJob;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    PeerLink& peer = *peers_[rank];
    if (!peer.connection || peer.has_left || !peer.connection->alive()) continue;
    try {
      if (!watch_.ended()) channels_[rank]->flush();
      std::lock_guard lock(peer.control_mutex);
      peer.control->call(message, reply);
    } catch (const Error&) {
      // Likewise.
    }
  }
}

PeerLinks::PeerLink& PeerLinks::sender(const Message& message) {
  const std::uint64_t rank = message.head.closure;
  if (rank >= peers_.size() || message.head.incarnation == 0 || peers_[rank]->incarnation != message.head.incarnation) {
    throw failed_precondition("Communicator '" + watch_.who() + "'", "a worker greets before it says anything else",
                              {{"rank", rank}, {"incarnation", message.head.incarnation}});
  }
  return *peers_[rank];
}

bool PeerLinks::is_quick(const Message& request) const {
  const std::uint64_t rank = request.head.closure;
  if (request.head.method != Method::Exchange || rank >= peers_.size()) return false;
  return peers_[rank]->mailbox.has_room();
}

void PeerLinks::check_caller(const TaskIdentity& caller, const Message& request) const {
  const std::size_t rank = request.head.closure;
  const std::string name = task_name(caller.job, caller.index);
  if (rank < peers_.size() && peers_[rank]->peer.task == name) return;
  throw Error(ErrorCode::PermissionDenied, "Communicator '" + watch_.who() + "'",
              "a rank that proves to be the one it says is expected", {{"caller", name}, {"rank", rank}});
}

void PeerLinks::handle(const Message& request, Message& reply) {
  if (request.head.method == Method::Hello) return take_greeting(request, reply);
  PeerLink& from = sender(request);
  switch (request.head.method) {
    case Method::Exchange:
      if (request.unread && request.unread->left() <= kStreamedChunkBytes) {
        from.mailbox.put(StreamChannel::read_label(request.head), request.unread);
        return;
      }
      // One that is to be answered only asks whether those before it have come.
      if ((request.head.flags & kOneWay) == 0) return;
      if (request.parts.size() != 1 || !request.parts[0].defined() || request.parts[0].dtype() != DType::UInt8 ||
          request.parts[0].bytes() > kStreamedChunkBytes) {
        throw Error(ErrorCode::DataLoss, "Communicator", "a chunk is expected", {{"from", from.peer.task}});
      }
      from.mailbox.put(StreamChannel::read_label(request.head), request.parts[0]);
      return;
    case Method::Cancel: {
      const std::uint64_t last = static_cast<std::uint64_t>(ErrorCode::Internal);
      watch_.end(Error(static_cast<ErrorCode>(std::min(request.head.step, last)), request.meta));
      return;
    }
    case Method::EndJob: {
      from.has_left = true;
      const std::size_t rank = request.head.closure;
      std::lock_guard lock(mutex_);
      if (channels_[rank]) channels_[rank]->peer_has_left();
      return;
    }
    default:
      throw unimplemented("Communicator '" + watch_.who() + "'", "there is no such method here",
                          {{"method", to_string(request.head.method)}});
  }
}

void PeerLinks::take_greeting(const Message& request, Message& reply) {
  const Greeting here{.job = options_.job, .name = watch_.who(), .from = rank_, .to = rank_, .addresses = addresses_};
  Greeting greeting;
  try {
    greeting = read_greeting(request, here);
  } catch (const Error& error) {
    std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = error;
    greeted_.notify_all();
    throw;
  }
  PeerLink& peer = *peers_[static_cast<std::size_t>(greeting.from)];
  std::lock_guard lock(mutex_);
  if (channels_[static_cast<std::size_t>(greeting.from)]) {
    throw failed_precondition("Communicator '" + watch_.who() + "'", "a worker joins a job once, when it starts",
                              {{"worker", peer.peer.task}}, "Start all workers again.");
  }
  if (greeting.from < rank_) {
    peer.segment = !may_share_memory(options_.transport) ? nullptr : SharedSegment::open(greeting.segment);
    write_nonce(peer.segment ? peer.segment->nonce() : 0, reply);
  }
  reply.head.incarnation = incarnation_;
  peer.incarnation = request.head.incarnation;
  greeted_.notify_all();
}

}  // namespace cohort::distribute::collective
