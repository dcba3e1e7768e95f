#pragma once

#include <cstdint>

namespace cohort::distribute {

// Flags of Head.
inline constexpr std::uint16_t kPull = 1;       // an exchange that only reads; its version is what the worker has
inline constexpr std::uint16_t kUnchanged = 2;  // the answer to such a one: nothing is newer
inline constexpr std::uint16_t kWrites = 4;     // of the chief: workers must see the variables as they are after it
inline constexpr std::uint16_t kLeaving = 8;    // of a worker's error: it is being stopped, another may go on

}  // namespace cohort::distribute
