#pragma once

#include <cstdint>
#include <functional>

namespace cohort::test {

// How often this process has asked the heap for memory so far, on any thread. Stays 0 where a sanitizer owns the heap.
std::uint64_t allocations();
// False where a sanitizer owns the heap: then there is nothing to expect of allocations().
bool allocations_are_counted();

// Whether a run of `steps` comes to allocate nothing. Pools still grow a few times after the first run, as often as the
// threads' timing lets one more batch be under way; a step that allocates by itself never passes.
bool reaches_steady_state(const std::function<void()>& steps);

}  // namespace cohort::test
