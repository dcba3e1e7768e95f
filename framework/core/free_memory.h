#pragma once

#include <cstdint>

namespace cohort {

// Bytes that this process may still take: what the machine has left, its control group and its own limits grant.
std::uint64_t free_memory();

}  // namespace cohort
