#include "cohort/datasets/sources/wav_audio.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cohort/core/error.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWav = "datasets.wav";
constexpr std::size_t kRiffHeader = 12, kChunkHeader = 8, kLeastFormat = 16, kExtensibleFormat = 40;

static_assert(std::endian::native == std::endian::little, "WAV files are little endian");

template <class T>
T wav_number(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// A WAV file while it is looked through.
class WavReader {
 public:
  WavReader(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  WavAudio find() {
    if (bytes_.size() < kRiffHeader || !bytes_.starts_with("RIFF") || bytes_.substr(8, 4) != "WAVE") {
      throw invalid_argument(kWav, "a WAV file is expected, which begins with RIFF and WAVE", {{"file", name_}});
    }
    std::size_t at = kRiffHeader;
    while (bytes_.size() - at >= kChunkHeader) {
      const std::string_view kind = bytes_.substr(at, 4);
      const auto size = wav_number<std::uint32_t>(bytes_, at + 4);
      at += kChunkHeader;
      if (size > bytes_.size() - at) damaged(at, "a part of it goes beyond its end");
      if (kind == "fmt ") read_format(at, size);
      if (kind == "data") return found(at, size);
      // Parts begin at even offsets.
      at += std::min<std::size_t>(std::size_t{size} + size % 2, bytes_.size() - at);
    }
    damaged(at, "it has no part with samples");
  }

 private:
  void read_format(std::size_t at, std::size_t size) {
    constexpr std::uint16_t kExtensible = 0xFFFE;
    if (size < kLeastFormat) damaged(at, "its format is cut off");
    auto tag = wav_number<std::uint16_t>(bytes_, at);
    if (tag == kExtensible) {
      if (size < kExtensibleFormat) damaged(at, "its format is cut off");
      constexpr std::size_t kSubFormat = 24;
      tag = wav_number<std::uint16_t>(bytes_, at + kSubFormat);
    }
    audio_.channels = wav_number<std::uint16_t>(bytes_, at + 2);
    audio_.sample_rate = wav_number<std::uint32_t>(bytes_, at + 4);
    const auto frame = wav_number<std::uint16_t>(bytes_, at + 12);
    const auto bits = wav_number<std::uint16_t>(bytes_, at + 14);
    audio_.encoding = encoding_of(tag, bits);
    frame_bytes_ = static_cast<std::size_t>(audio_.channels) * bits / 8;
    if (audio_.channels == 0 || audio_.sample_rate == 0) damaged(at, "it has no channel or no sample rate");
    if (frame != frame_bytes_) damaged(at, "the size of a frame is not that of its samples");
  }
  WavEncoding encoding_of(std::uint16_t tag, std::uint16_t bits) const {
    constexpr std::uint16_t kPcm = 1, kFloat = 3;
    if (tag == kPcm && bits == 8) return WavEncoding::Unsigned8;
    if (tag == kPcm && bits == 16) return WavEncoding::Signed16;
    if (tag == kPcm && bits == 24) return WavEncoding::Signed24;
    if (tag == kPcm && bits == 32) return WavEncoding::Signed32;
    if (tag == kFloat && bits == 32) return WavEncoding::Float32;
    if (tag == kFloat && bits == 64) return WavEncoding::Float64;
    throw invalid_argument(kWav, "PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64, are expected",
                           {{"file", name_}, {"format", tag}, {"bits", bits}}, "Convert the file.");
  }
  WavAudio found(std::size_t at, std::size_t size) {
    if (frame_bytes_ == 0) damaged(at, "its samples come before their format");
    // A last frame that is not whole is left out, as TensorFlow does.
    audio_.frames = static_cast<std::int64_t>(size / frame_bytes_);
    audio_.samples = bytes_.substr(at, size - size % frame_bytes_);
    return audio_;
  }
  [[noreturn]] void damaged(std::size_t at, const char* problem) const {
    throw Error(ErrorCode::DataLoss, kWav, "a whole WAV file is expected",
                {{"file", name_}, {"offset", at}, {"problem", problem}}, "Write the file again.");
  }

  std::string_view bytes_, name_;
  WavAudio audio_;
  std::size_t frame_bytes_ = 0;  // 0: no format yet
};

template <class T, class Convert>
void decode_samples(const char* samples, std::size_t count, float* target, const Convert& convert) {
  for (std::size_t i = 0; i < count; ++i) {
    T sample;
    std::memcpy(&sample, samples + i * sizeof(T), sizeof(T));
    target[i] = convert(sample);
  }
}

void decode_24_bits(const char* samples, std::size_t count, float* target) {
  for (std::size_t i = 0; i < count; ++i) {
    // As the upper bytes of 32, so that the sign is where it belongs.
    char wide[4] = {0};
    std::memcpy(wide + 1, samples + 3 * i, 3);
    std::int32_t sample;
    std::memcpy(&sample, wide, sizeof sample);
    target[i] = static_cast<float>(sample) * 0x1p-31f;
  }
}

}  // namespace

WavAudio find_wav_audio(std::string_view bytes, std::string_view name) { return WavReader(bytes, name).find(); }

void decode_wav(const WavAudio& audio, float* target, std::int64_t frames) {
  const auto channels = static_cast<std::size_t>(audio.channels);
  const std::size_t count = static_cast<std::size_t>(std::min(frames, audio.frames)) * channels;
  const char* samples = audio.samples.data();
  switch (audio.encoding) {
    case WavEncoding::Unsigned8:
      decode_samples<std::uint8_t>(samples, count, target,
                                   [](std::uint8_t sample) { return static_cast<float>(sample - 128) * 0x1p-7f; });
      break;
    case WavEncoding::Signed16:
      decode_samples<std::int16_t>(samples, count, target,
                                   [](std::int16_t sample) { return static_cast<float>(sample) * 0x1p-15f; });
      break;
    case WavEncoding::Signed24:
      decode_24_bits(samples, count, target);
      break;
    case WavEncoding::Signed32:
      decode_samples<std::int32_t>(samples, count, target,
                                   [](std::int32_t sample) { return static_cast<float>(sample) * 0x1p-31f; });
      break;
    case WavEncoding::Float32:
      decode_samples<float>(samples, count, target, [](float sample) { return sample; });
      break;
    case WavEncoding::Float64:
      decode_samples<double>(samples, count, target, [](double sample) { return static_cast<float>(sample); });
  }
  std::fill(target + count, target + static_cast<std::size_t>(frames) * channels, 0.0f);
}

}  // namespace cohort::datasets
