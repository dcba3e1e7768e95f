#pragma once

#include <cstdint>
#include <string_view>

namespace cohort {

// FarmHash's 64-bit fingerprint of a text: the same on every machine and for all time.
std::uint64_t fingerprint64(std::string_view text);

// SipHash-2-4 of a text under a key of two words: nobody without the key can make texts collide.
std::uint64_t siphash(std::string_view text, std::uint64_t key_0, std::uint64_t key_1);

}  // namespace cohort
