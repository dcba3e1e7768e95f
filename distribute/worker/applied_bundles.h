#pragma once

#include <cstdint>
#include <vector>

namespace cohort::distribute {

// Which bundles of writes a server has applied: (closure, step, round). Not thread-safe. Memory of closures that are
// finished serves the next ones.
class AppliedBundles {
 public:
  // Far above what a closure holds: a message that asks for more is not believed.
  static constexpr std::uint64_t kMostSteps = 1 << 20;
  static constexpr std::uint32_t kMostRounds = 64;

  // Notes a bundle; false when it was there already, or when its closure has finished.
  bool insert(std::uint64_t closure, std::uint64_t step, std::uint32_t round);
  // Takes back what insert() noted: the bundle could not be applied.
  void erase(std::uint64_t closure, std::uint64_t step, std::uint32_t round);
  // Closures below have finished: nobody will send their bundles again, and if somebody does they are repeats.
  void forget_below(std::uint64_t closure);

 private:
  struct Entry {
    std::uint64_t closure = 0;
    std::vector<bool> bundles;
  };
  Entry& entry_of(std::uint64_t closure);

  std::vector<Entry> open_;
  std::vector<Entry> spare_;
  std::uint64_t finished_below_ = 0;
};

}  // namespace cohort::distribute
