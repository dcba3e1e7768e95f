#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "cohort/distribute/collective/channel.h"
#include "cohort/distribute/protocol/message.h"

namespace cohort::distribute::collective {

// Chunks that came over the network from one peer and that nobody has received. Thread-safe.
class Mailbox {
 public:
  // Whether put() would not wait.
  bool has_room() const;
  struct Letter {
    CallLabel label;
    Tensor bytes;
    std::shared_ptr<UnreadPart> unread = nullptr;  // in the place of bytes
    std::uint64_t size = 0;
  };
  // Waits while there is much to receive, so that the sender waits, too; false when it is closed.
  bool put(const CallLabel& label, const Tensor& bytes) { return put({label, bytes, nullptr, bytes.bytes()}); }
  bool put(const CallLabel& label, const std::shared_ptr<UnreadPart>& bytes) {
    return put({label, {}, bytes, bytes->left()});
  }
  // Waits for a chunk, until then at most; false when there is none.
  bool wait(Deadline until) const;
  // The oldest, which stays where it is; only after wait() was true.
  const Letter& front() const;
  void pop();
  // Those who wait return.
  void interrupt();
  // Nothing is taken any more.
  void close();

 private:
  bool put(Letter letter);

  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable came_, went_;
  std::deque<Letter> letters_;
  std::uint64_t bytes_ = 0;
  std::uint64_t interruptions_ = 0;
  bool closed_ = false;
};

}  // namespace cohort::distribute::collective
