#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

namespace cohort::distribute {

class Reservation;

// What one thread at a time may use.
class Reservable {
 private:
  friend class Reservation;
  Reservation* newest_ = nullptr;  // the last one in its line
};

// The use of several things at once, for as long as it lives. Those that want other things do not wait for one another;
// those that want one of the same take turns in the order they came, so that nobody waits in a circle or for ever. One
// mutex guards the lines of things that are reserved together; it is not held while they are used.
class Reservation {
 public:
  // Waits for its turn; `lock` holds the mutex before and after, and lets go of it meanwhile. Each thing is named once;
  // the list must live as long as this.
  Reservation(std::unique_lock<std::mutex>& lock, std::span<Reservable* const> things);
  // Takes the lock where it is not held.
  ~Reservation();
  Reservation(const Reservation&) = delete;
  // Whether nobody has reserved any of them; the caller holds the mutex, and may use them for as long as it does.
  static bool are_free(std::span<Reservable* const> things);

 private:
  void join_lines();

  std::unique_lock<std::mutex>& lock_;
  const std::span<Reservable* const> things_;
  std::vector<Reservation*> followers_;  // that wait for this one, each once
  std::size_t earlier_ = 0;              // that it waits for
  std::condition_variable turn_;
};

}  // namespace cohort::distribute
