#include "cohort/distribute/collective/mailbox.h"

namespace cohort::distribute::collective {
namespace {

// Room for what a peer may send before anything is received.
constexpr std::uint64_t kMailboxBytes = 2 * kBytesAhead;

}  // namespace

bool Mailbox::has_room() const {
  std::lock_guard lock(mutex_);
  return closed_ || bytes_ < kMailboxBytes;
}

bool Mailbox::put(Letter letter) {
  {
    std::unique_lock lock(mutex_);
    went_.wait(lock, [&] { return closed_ || bytes_ < kMailboxBytes; });
    if (closed_) return false;
    bytes_ += letter.size;
    letters_.push_back(std::move(letter));
  }
  came_.notify_one();
  return true;
}

bool Mailbox::wait(Deadline until) const {
  std::unique_lock lock(mutex_);
  const std::uint64_t before = interruptions_;
  came_.wait_until(lock, until, [&] { return !letters_.empty() || interruptions_ != before; });
  return !letters_.empty();
}

const Mailbox::Letter& Mailbox::front() const {
  std::lock_guard lock(mutex_);
  return letters_.front();
}

void Mailbox::pop() {
  Letter done;  // its memory is given back outside the lock
  {
    std::lock_guard lock(mutex_);
    std::swap(done, letters_.front());
    letters_.pop_front();
    bytes_ -= done.size;
  }
  went_.notify_one();
}

void Mailbox::interrupt() {
  {
    std::lock_guard lock(mutex_);
    ++interruptions_;
  }
  came_.notify_all();
}

void Mailbox::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    ++interruptions_;
  }
  went_.notify_all();
  came_.notify_all();
}

}  // namespace cohort::distribute::collective
