#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace cohort::distribute {

// Which bundles of writes a server has applied: (closure, step, round), found by their numbers. Not thread-safe. Memory
// of closures that are finished serves the next ones.
class AppliedBundles {
 public:
  // Far above what a closure holds: a message that asks for more is not believed.
  static constexpr std::uint64_t kMostSteps = 1 << 20;
  static constexpr std::uint32_t kMostRounds = 64;
  // So many closures may be known beside the oldest that has not finished, and so many steps of them all.
  static constexpr std::uint64_t kMostClosures = 1 << 24;
  static constexpr std::uint64_t kMostStepsKept = 1 << 24;

  // Notes a bundle; false when it was there already, or when its closure has finished.
  bool insert(std::uint64_t closure, std::uint64_t step, std::uint32_t round);
  // Takes back what insert() noted: the bundle could not be applied.
  void erase(std::uint64_t closure, std::uint64_t step, std::uint32_t round);
  // Closures below have finished: nobody will send their bundles again, and if somebody does they are repeats.
  void forget_below(std::uint64_t closure);
  // How many steps it remembers.
  std::uint64_t steps_kept() const { return steps_kept_; }

 private:
  static constexpr std::uint64_t kBlockClosures = 64;
  using Rounds = std::uint64_t;  // a bit for each
  using Block = std::array<std::vector<Rounds>, kBlockClosures>;

  std::vector<Rounds>& steps_of(std::uint64_t closure);
  void recycle(std::unique_ptr<Block> block);

  std::deque<std::unique_ptr<Block>> blocks_;  // from that of finished_below_ on; null where nothing was noted
  std::vector<std::unique_ptr<Block>> spare_;
  std::uint64_t finished_below_ = 0;
  std::uint64_t steps_kept_ = 0;
};

}  // namespace cohort::distribute
