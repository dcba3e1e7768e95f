#include <algorithm>
#include <map>
#include <thread>

#include "cohort/core/log.h"
#include "cohort/distribute/cluster/transport_choice.h"
#include "cohort/distribute/collective/greeting.h"
#include "cohort/distribute/collective/peer_links.h"
#include "cohort/distribute/collective/shared_channel.h"
#include "cohort/distribute/collective/stream_channel.h"

namespace cohort::distribute::collective {
namespace {

using MeetingClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenGreetings{20}, kBetweenStartTables{2000}, kLongestGreeting{1000},
    kToTellARefusal{500};

// Nothing where there can be no shared memory and need not be.
std::unique_ptr<SharedSegment> make_offer(const std::string& transport) {
  if (!may_share_memory(transport)) return nullptr;
  try {
    return SharedSegment::make();
  } catch (const Error& error) {
    if (transport == "shm") throw;
    log::warn(error.what());
    return nullptr;
  }
}

}  // namespace

bool PeerLinks::greet(int rank, std::chrono::milliseconds longest, std::string& reason) {
  PeerLink& peer = *peers_[static_cast<std::size_t>(rank)];
  // Of the two of a pair, the one with the smaller rank offers memory.
  std::unique_ptr<SharedSegment> segment;
  std::uint64_t read_there = 0;
  try {
    // Memory is shared by channels, not by streams.
    rpc::TransportOptions transport{.transport = options_.transport == "grpc" ? "grpc" : "tcp",
                                    .connect_timeout = longest,
                                    .security = options_.security};
    transport.set_dead_after(options_.dead_after);
    auto connection = rpc::connect(peer.peer, transport);
    auto control = connection->open();
    if (rank_ < rank) segment = make_offer(options_.transport);
    Message request, reply;
    request.head = head();
    write_greeting({.job = options_.job,
                    .name = watch_.who(),
                    .from = rank_,
                    .to = rank,
                    .addresses = addresses_,
                    .segment = segment ? segment->name() : std::string()},
                   request);
    control->call(request, reply);
    read_there = read_nonce(reply);
    peer.answered = reply.head.incarnation;
    peer.connection = std::move(connection);
    peer.control = std::move(control);
  } catch (const rpc::RpcError& error) {
    reason = error.reason();
    return false;
  } catch (const Error& error) {
    // It is still in the run before this one, and may be started again.
    if (error.code() != ErrorCode::FailedPrecondition) throw;
    reason = error.what();
    return false;
  }
  if (segment && read_there != 0) {
    if (read_there != segment->nonce()) {
      throw Error(ErrorCode::DataLoss, "Communicator '" + watch_.who() + "'",
                  "a peer tells what it reads in our segment", {{"peer", peer.peer.task}});
    }
    segment->hide();
    peer.segment = std::move(segment);
  }
  return true;
}

std::string PeerLinks::awaited(const std::vector<std::string>& reasons) const {
  std::string table;
  std::size_t joined = 1;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const PeerLink& peer = *peers_[rank];
    if (static_cast<int>(rank) == rank_) continue;
    if (peer.connection && peer.incarnation == peer.answered) {
      ++joined;
      continue;
    }
    const std::string reason = peer.connection ? "has not greeted" : reasons[rank];
    table += (table.empty() ? " " : "; ") + peer.peer.task + " " + peer.peer.address + ", " + reason;
  }
  return std::to_string(joined) + "/" + std::to_string(peers_.size()) + " joined, missing" + table;
}

// One that was started again meanwhile is greeted again.
bool PeerLinks::met(PeerLink& peer) const {
  if (peer.connection && !peer.connection->alive()) {
    peer.control.reset();
    peer.connection.reset();
  }
  return peer.connection && peer.incarnation == peer.answered;
}

void PeerLinks::meet() {
  const auto started = MeetingClock::now();
  auto last_table = started;
  std::vector<std::string> reasons(peers_.size(), "not greeted so far");
  for (;;) {
    bool all_met = true;
    for (int rank = 0; rank < size(); ++rank) {
      PeerLink& peer = *peers_[static_cast<std::size_t>(rank)];
      if (rank == rank_ || met(peer)) continue;
      if (!peer.connection) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(started + options_.start_timeout -
                                                                                MeetingClock::now());
        greet(rank, std::clamp(left, std::chrono::milliseconds(50), kLongestGreeting),
              reasons[static_cast<std::size_t>(rank)]);
      }
      all_met = all_met && met(peer);
    }
    if (all_met) return;
    const auto now = MeetingClock::now();
    if (now - started >= options_.start_timeout) {
      throw Error(ErrorCode::Unavailable, "Communicator '" + watch_.who() + "'",
                  "all workers must meet within start_timeout",
                  {{"start_timeout in seconds", static_cast<double>(options_.start_timeout.count()) / 1000.0},
                   {"workers", awaited(reasons)}},
                  "Start the missing workers, or correct their addresses.");
    }
    if (now - last_table >= kBetweenStartTables) {
      log::info("Communicator '" + watch_.who() + "': " + awaited(reasons) + ".");
      last_table = now;
    }
    std::unique_lock lock(mutex_);
    greeted_.wait_until(lock, now + kBetweenGreetings);
    if (!refusal_) continue;
    // The other one is to hear of it, too, and not to meet a closed door.
    lock.unlock();
    std::this_thread::sleep_for(kToTellARefusal);
    throw Error(*refusal_);
  }
}

void PeerLinks::make_channels() {
  // Streams are opened while others may be heard.
  std::vector<std::unique_ptr<Channel>> streamed(peers_.size());
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    PeerLink& peer = *peers_[rank];
    const auto shares_memory = [&] {
      std::lock_guard lock(mutex_);
      return peer.segment != nullptr;
    };
    if (static_cast<int>(rank) == rank_ || shares_memory()) continue;
    streamed[rank] = std::make_unique<StreamChannel>(*peer.connection, head(), peer.mailbox, watch_);
  }
  std::lock_guard lock(mutex_);
  std::map<std::string, std::string> reached;  // by transport
  unsigned here = 1;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    PeerLink& peer = *peers_[rank];
    if (static_cast<int>(rank) == rank_) continue;
    channels_[rank] = std::move(streamed[rank]);
    if (!channels_[rank]) {
      channels_[rank] = std::make_unique<SharedChannel>(std::move(peer.segment), peer.peer.task, watch_);
      ++here;
    }
    std::string& list = reached[channels_[rank]->transport()];
    list += (list.empty() ? " to " : ", ") + peer.peer.task;
    if (peer.has_left) channels_[rank]->peer_has_left();
  }
  for (const auto& channel : channels_) {
    if (channel) channel->may_spin(here <= std::thread::hardware_concurrency());
  }
  std::string all;
  for (const auto& [transport, list] : reached) {
    if (options_.transport == "shm" && transport != "shared memory") {
      throw failed_precondition("Communicator '" + watch_.who() + "'", "all workers are on one host with transport shm",
                                {{"elsewhere", list}}, "Use transport auto.");
    }
    all += (all.empty() ? "" : ", ") + transport + list;
  }
  log::info("Communicator '" + watch_.who() + "': " + all + ".");
}

}  // namespace cohort::distribute::collective
