#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace cohort::distribute::rpc {

// Sleeps while the word is `seen`, for that long at most; another process may share it. Wakes up for no reason, too.
void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds longest);
// Wakes all who sleep on the word, in all processes.
void wake_all(std::atomic<std::uint32_t>& word);

}  // namespace cohort::distribute::rpc
