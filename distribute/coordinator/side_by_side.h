#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace cohort::distribute {

// Calls work(0), ..., work(count - 1), each on a thread of its own, and waits for all; they must not throw.
template <class Work>
void side_by_side(std::size_t count, const Work& work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i + 1 < count; ++i) threads.emplace_back([&work, i] { work(i); });
  if (count > 0) work(count - 1);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cohort::distribute
