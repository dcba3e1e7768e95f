#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "cohort/distribute/rpc/message_reader.h"
#include "cohort/distribute/rpc/message_writer.h"

namespace cohort::distribute::rpc {

// What a side sleeps for.
inline constexpr std::uint32_t kForBytes = 1, kForRoom = 2;

// What carries the messages of a stream beside its call over gRPC: memory of both processes, or a socket. Waits for
// nobody but in sleep(). Used by one thread at a time, but interrupt() is for any.
class Carrier {
 public:
  virtual ~Carrier() = default;

  enum class Came {
    NotAll,   // there is nothing more for now
    Asks,     // the reader wants to admit the message first
    Message,  // the reader holds a whole one
  };
  // Hands what has come over to the reader; throws DataLoss.
  virtual Came take(MessageReader& reader) = 0;
  // Writes what there is room for; true when all of the writer's message is on its way.
  virtual bool put(MessageWriter& writer) = 0;
  // Whether messages carry sums, for readers: what carries them does not vouch for their bytes.
  virtual bool sums() const = 0;

  // Sleeps until there may be what the reasons say, the other side closes, or interrupt() is called; so long at most,
  // and not at all when it is over. Wakes up for no reason, too.
  virtual void sleep(std::uint32_t reasons, std::chrono::nanoseconds longest, const std::function<bool()>& is_over) = 0;
  // Nobody sleeps any more.
  virtual void interrupt() = 0;
  // Whether the way to the other side has been broken for so long, whatever else is heard of it.
  virtual bool is_silent(std::chrono::milliseconds) const { return false; }

  // This side writes and reads no more.
  virtual void close() = 0;
  // Whether the other side has closed, or is gone. What it wrote before may still be there.
  virtual bool is_closed() const = 0;
};

}  // namespace cohort::distribute::rpc
