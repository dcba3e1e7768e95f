#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace cohort::distribute::rpc {

// Keeps count of the memory that messages take while they are received and handled, within a limit for each connection
// and one for all. Who finds it taken waits, for a limited time. Thread-safe.
class MessageMemory {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    std::uint64_t in_all, per_connection;
    Clock::duration wait;
  };
  enum class Answer { Granted, Refused, Later };
  // The memory of one stream, for one message at a time. Used by one thread at a time.
  class Share {
   public:
    // `decided` is called after the answer Later, with why it was refused or an empty text, by whoever made room.
    Share(MessageMemory& memory, std::string connection, std::function<void(const std::string& refusal)> decided);
    ~Share() { release(); }
    Share(const Share&) = delete;
    // After Later the share is not to be touched before the decision. `refusal` is set when it is refused.
    Answer take(std::uint64_t bytes, std::string& refusal) { return memory_.take(*this, bytes, refusal); }
    void release();

   private:
    friend class MessageMemory;
    MessageMemory& memory_;
    const std::string connection_;
    const std::function<void(const std::string&)> decided_;
    std::uint64_t taken_ = 0;
  };

  explicit MessageMemory(const Limits& limits) : limits_(limits) {}
  std::uint64_t taken() const;
  // To be called now and then: refuses those who have waited for too long.
  void expire(Clock::time_point now);
  // Nobody waits any more.
  void close();

 private:
  struct Waiting {
    Share* share;
    std::uint64_t bytes;
    Clock::time_point until;
    std::string refusal = {};
  };
  Answer take(Share& share, std::uint64_t bytes, std::string& refusal);
  void release(const std::string& connection, std::uint64_t bytes);
  std::uint64_t taken_by(const std::string& connection) const;
  bool grant(Share& share, std::uint64_t bytes);
  std::string no_room(const Share& share, std::uint64_t bytes) const;
  static void tell(const std::list<Waiting>& decided);

  const Limits limits_;
  std::atomic<bool> somebody_waits_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::uint64_t taken_ = 0;
  std::map<std::string, std::uint64_t> by_connection_;
  std::list<Waiting> waiting_;
  bool closed_ = false;
};

}  // namespace cohort::distribute::rpc
