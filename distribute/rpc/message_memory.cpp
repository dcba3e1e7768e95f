#include "cohort/distribute/rpc/message_memory.h"

#include <utility>

namespace cohort::distribute::rpc {

MessageMemory::Share::Share(MessageMemory& memory, std::string connection,
                            std::function<void(const std::string& refusal)> decided)
    : memory_(memory), connection_(std::move(connection)), decided_(std::move(decided)) {}

void MessageMemory::Share::release() {
  if (const std::uint64_t bytes = std::exchange(taken_, 0)) memory_.release(connection_, bytes);
}

std::uint64_t MessageMemory::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

std::uint64_t MessageMemory::taken_by(const std::string& connection) const {
  const auto found = by_connection_.find(connection);
  return found == by_connection_.end() ? 0 : found->second;
}

std::string MessageMemory::no_room(const Share& share, std::uint64_t bytes) const {
  const std::uint64_t mine = taken_by(share.connection_);
  const bool connection_is_full = bytes > limits_.per_connection - mine;
  return std::to_string(bytes) + " bytes, while messages of " +
         (connection_is_full ? "this connection" : "all callers") + " take " +
         std::to_string(connection_is_full ? mine : taken_) + " of " +
         std::to_string(connection_is_full ? limits_.per_connection : limits_.in_all) + " bytes";
}

bool MessageMemory::grant(Share& share, std::uint64_t bytes) {
  const std::uint64_t mine = taken_by(share.connection_);
  if (bytes > limits_.per_connection - mine || bytes > limits_.in_all - taken_) return false;
  by_connection_[share.connection_] = mine + bytes;
  taken_ += bytes;
  share.taken_ += bytes;
  return true;
}

MessageMemory::Answer MessageMemory::take(Share& share, std::uint64_t bytes, std::string& refusal) {
  std::lock_guard lock(mutex_);
  if (closed_ || grant(share, bytes)) return Answer::Granted;
  if (bytes > limits_.per_connection || bytes > limits_.in_all || limits_.wait.count() <= 0) {
    refusal = no_room(share, bytes);
    return Answer::Refused;
  }
  waiting_.push_back({&share, bytes, Clock::now() + limits_.wait});
  somebody_waits_ = true;
  return Answer::Later;
}

// A waiter may go on, and even be gone, as soon as it is told.
void MessageMemory::tell(const std::list<Waiting>& decided) {
  for (const Waiting& waiting : decided) waiting.share->decided_(waiting.refusal);
}

void MessageMemory::release(const std::string& connection, std::uint64_t bytes) {
  std::list<Waiting> granted;
  {
    std::lock_guard lock(mutex_);
    taken_ -= bytes;
    const auto mine = by_connection_.find(connection);
    mine->second -= bytes;
    if (mine->second == 0) by_connection_.erase(mine);
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      const auto one = next++;
      if (grant(*one->share, one->bytes)) granted.splice(granted.end(), waiting_, one);
    }
    somebody_waits_ = !waiting_.empty();
  }
  tell(granted);
}

void MessageMemory::expire(Clock::time_point now) {
  if (!somebody_waits_) return;
  std::list<Waiting> refused;
  {
    std::lock_guard lock(mutex_);
    while (!waiting_.empty() && waiting_.front().until <= now) {
      waiting_.front().refusal = no_room(*waiting_.front().share, waiting_.front().bytes);
      refused.splice(refused.end(), waiting_, waiting_.begin());
    }
    somebody_waits_ = !waiting_.empty();
  }
  tell(refused);
}

void MessageMemory::close() {
  std::list<Waiting> all;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(waiting_);
    somebody_waits_ = false;
  }
  tell(all);
}

}  // namespace cohort::distribute::rpc
