#pragma once

#include <cstdint>

namespace cohort::test {

// How often this process has asked the heap for memory so far, on any thread; a GPU's driver and its libraries are left
// out. Stays 0 where a sanitizer owns the heap.
std::uint64_t allocations();
// False where a sanitizer owns the heap: then there is nothing to expect of allocations().
bool allocations_are_counted();

}  // namespace cohort::test
