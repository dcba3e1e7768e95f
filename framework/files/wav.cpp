#include "cohort/files/wav.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "cohort/core/error.h"

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "WAV files are little endian");

template <class T>
void append_to_wav(std::string& file, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  file.append(bytes, sizeof(T));
}

std::int16_t wav_sample(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int16_t>(std::clamp(std::round(value * 32768.0f), -32768.0f, 32767.0f));
}

}  // namespace

std::string encode_wav(std::span<const float> samples, std::int64_t channels, std::int64_t sample_rate) {
  constexpr std::int64_t kMostChannels = std::numeric_limits<std::uint16_t>::max() / 2;
  if (channels < 1 || channels > kMostChannels || samples.size() % static_cast<std::size_t>(channels) != 0) {
    throw invalid_argument("encode_wav", "whole frames of at least one channel are expected",
                           {{"channels", channels}, {"samples", samples.size()}});
  }
  if (sample_rate < 1 || sample_rate > std::numeric_limits<std::int32_t>::max() / (2 * channels)) {
    throw invalid_argument("encode_wav", "sample_rate must be a number of frames in a second",
                           {{"sample_rate", sample_rate}});
  }
  constexpr std::size_t kHeader = 44, kMost = std::numeric_limits<std::int32_t>::max();
  const std::size_t bytes = samples.size() * sizeof(std::int16_t);
  if (samples.size() > (kMost - kHeader) / sizeof(std::int16_t)) {
    throw invalid_argument("encode_wav", "at most 2 GiB fit into a WAV file", {{"bytes", bytes}});
  }
  const auto frame = static_cast<std::uint16_t>(channels * 2);
  std::string file;
  file.reserve(kHeader + bytes);
  file += "RIFF";
  append_to_wav(file, static_cast<std::uint32_t>(kHeader - 8 + bytes));
  file += "WAVEfmt ";
  append_to_wav(file, std::uint32_t{16});  // bytes of this part
  append_to_wav(file, std::uint16_t{1});   // PCM
  append_to_wav(file, static_cast<std::uint16_t>(channels));
  append_to_wav(file, static_cast<std::uint32_t>(sample_rate));
  append_to_wav(file, static_cast<std::uint32_t>(sample_rate * frame));
  append_to_wav(file, frame);
  append_to_wav(file, std::uint16_t{16});  // bits of a sample
  file += "data";
  append_to_wav(file, static_cast<std::uint32_t>(bytes));
  for (const float sample : samples) append_to_wav(file, wav_sample(sample));
  return file;
}

}  // namespace cohort
