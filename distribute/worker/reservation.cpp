#include "cohort/distribute/worker/reservation.h"

#include <algorithm>

namespace cohort::distribute {

Reservation::Reservation(std::unique_lock<std::mutex>& lock, std::span<Reservable* const> things)
    : lock_(lock), things_(things) {
  join_lines();
  if (earlier_ > 0) turn_.wait(lock_, [this] { return earlier_ == 0; });
}

bool Reservation::are_free(std::span<Reservable* const> things) {
  return std::all_of(things.begin(), things.end(), [](const Reservable* thing) { return !thing->newest_; });
}

// Nothing is changed when there is no memory for it.
void Reservation::join_lines() {
  const auto last_in = [this](const Reservation& other) {
    return !other.followers_.empty() && other.followers_.back() == this;
  };
  try {
    for (const Reservable* thing : things_) {
      if (Reservation* before = thing->newest_; before && !last_in(*before)) {
        before->followers_.push_back(this);
        ++earlier_;
      }
    }
  } catch (...) {
    for (const Reservable* thing : things_) {
      if (Reservation* before = thing->newest_; before && last_in(*before)) before->followers_.pop_back();
    }
    throw;
  }
  for (Reservable* thing : things_) thing->newest_ = this;
}

Reservation::~Reservation() {
  if (!lock_.owns_lock()) lock_.lock();
  for (Reservable* thing : things_) {
    if (thing->newest_ == this) thing->newest_ = nullptr;
  }
  for (Reservation* follower : followers_) {
    if (--follower->earlier_ == 0) follower->turn_.notify_one();
  }
}

}  // namespace cohort::distribute
