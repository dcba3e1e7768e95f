#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "cohort/core/error.h"

namespace cohort::distribute::collective {

using Deadline = std::chrono::steady_clock::time_point;

// What ends the waits of a communicator: the first failure, whoever finds it, is everybody's from then on. Thread-safe.
class Watch {
 public:
  // How long a wait lasts before it looks here again.
  static constexpr std::chrono::milliseconds kPause{20};

  // `who` speaks in errors: "worker:1".
  explicit Watch(std::string who) : who_(std::move(who)) {}
  const std::string& who() const { return who_; }

  // Looks for peers that are gone and throws what it finds; set once, before anybody waits.
  void set_look(std::function<void()> look) { look_ = std::move(look); }
  // Called when the end has come, by whoever brought it; set once, before anybody waits.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  // The first one counts; false for the others.
  bool end(const Error& why);
  bool ended() const { return ended_; }
  // Throws when the end has come.
  void throw_if_ended() const;
  // For somebody who waits for `peer`: throws when the end has come, a peer is gone, or it is too late.
  void check(const std::string& peer, Deadline deadline) const;

 private:
  const std::string who_;
  std::function<void()> look_, wake_;
  std::atomic<bool> ended_ = false;
  mutable std::mutex mutex_;  // guards why_
  std::optional<Error> why_;
};

}  // namespace cohort::distribute::collective
