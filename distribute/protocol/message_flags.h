#pragma once

#include <cstdint>

namespace cohort::distribute {

// Flags of Head.
// Of an exchange that only reads. Any exchange's version is what the worker has: it is sent what is newer.
inline constexpr std::uint16_t kPull = 1;
inline constexpr std::uint16_t kVersion = 2;  // of a pull: only the server's version is asked for
inline constexpr std::uint16_t kWrites = 4;   // of the chief: workers must see the variables as they are after it
inline constexpr std::uint16_t kLeaving = 8;  // of a worker's error: it is being stopped, another may go on

// Of a message that is not answered: Stream::post.
inline constexpr std::uint16_t kOneWay = 32;

// Of a worker's error: it cannot reach a ps, the one whose number is the head's round.
inline constexpr std::uint16_t kCutOff = 16;

}  // namespace cohort::distribute
