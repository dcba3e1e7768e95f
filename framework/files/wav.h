#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace cohort {

// A WAV file of 16-bit samples; `samples` are frames of interleaved channels, from -1 to 1 and clipped to that.
std::string encode_wav(std::span<const float> samples, std::int64_t channels, std::int64_t sample_rate);

}  // namespace cohort
