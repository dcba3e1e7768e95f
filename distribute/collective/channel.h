#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include "cohort/core/dtype.h"
#include "cohort/distribute/collective/call_label.h"
#include "cohort/distribute/collective/watch.h"
#include "cohort/distribute/protocol/unread_part.h"

namespace cohort::distribute::collective {

// What channels of every kind carry in one chunk; post() and receive() cut by it.
inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
// The network likes larger ones: what a channel over gRPC carries in one chunk.
inline constexpr std::size_t kStreamedChunkBytes = std::size_t{1} << 20;
// So many bytes may be sent before the first of them are received, and one chunk more. Where processes have to share
// cores this is what one gets done before it has to wait for another.
inline constexpr std::size_t kBytesAhead = std::size_t{8} << 20;
// The same through memory that both sides map: what one has written is still in the caches when the other reads it.
inline constexpr std::size_t kSharedBytesAhead = std::size_t{256} << 10;
// The same in chunks of this size.
constexpr std::size_t chunks_ahead(std::size_t chunk_bytes) {
  return (chunk_bytes < kStreamedChunkBytes ? kSharedBytesAhead : kBytesAhead) / chunk_bytes;
}

// An ordered way from one rank to another and back, in chunks. One thread may send while another receives. Waits end
// with the deadline, which names the peer, and with the communicator's watch.
class Channel {
 public:
  // What is in a chunk, until release(). To be used once.
  struct Arrived {
    CallLabel label;
    std::span<const std::byte> bytes;
    UnreadPart* unread = nullptr;  // in the place of bytes
    std::size_t size() const { return unread ? unread->left() : bytes.size(); }
    void copy_to(std::byte* to) const;
    // sum[i] = own[i] + what came.
    void add_to(DType dtype, const std::byte* own, std::byte* sum) const;
  };
  virtual ~Channel() = default;

  // Memory of a chunk for what is sent next: waits for room.
  virtual std::span<std::byte> reserve(std::size_t bytes, Deadline deadline) = 0;
  // Sends what was reserved.
  virtual void send(const CallLabel& label) = 0;
  // The same with what lies elsewhere, and may change when it returns.
  virtual void send_copy(const CallLabel& label, std::span<const std::byte> bytes, Deadline deadline);
  // Waits for the oldest chunk that was not released.
  virtual Arrived next(Deadline deadline) = 0;
  virtual void release() = 0;
  // All that was sent has come to the peer's memory when it returns.
  virtual void flush() {}
  // Those who wait look at the watch. From any thread.
  virtual void interrupt() = 0;
  // The peer is done: nothing comes from it any more but what is here. From any thread.
  void peer_has_left() {
    has_left_ = true;
    interrupt();
  }
  // Whether a wait may keep a core busy for a moment: every rank of this host has one.
  virtual void may_spin(bool) {}
  virtual std::size_t largest_chunk() const = 0;
  // "worker:2"
  virtual const std::string& peer() const = 0;
  // "shared memory", "TCP", "gRPC"
  virtual const char* transport() const = 0;

  // Sends bytes of any number.
  void post(const CallLabel& label, std::span<const std::byte> bytes, Deadline deadline);
  // The next chunk, which must belong to this call and have this size: the peer makes another call otherwise.
  Arrived expect(const CallLabel& label, std::size_t bytes, Deadline deadline);
  // Receives what the peer posts.
  void receive(const CallLabel& label, std::span<std::byte> into, Deadline deadline);
  // Adds it to what is there.
  void receive_and_add(const CallLabel& label, DType dtype, std::span<std::byte> into, Deadline deadline);

 protected:
  // To be asked before a last look at whether there is something.
  bool has_left() const { return has_left_; }
  [[noreturn]] void throw_left() const;

 private:
  std::atomic<bool> has_left_ = false;
};

}  // namespace cohort::distribute::collective
