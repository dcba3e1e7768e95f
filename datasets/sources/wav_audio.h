#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohort::datasets {

// How the samples of a WAV file are written.
enum class WavEncoding { Unsigned8, Signed16, Signed24, Signed32, Float32, Float64 };

// The sound of a WAV file, in the file's own bytes.
struct WavAudio {
  // How its samples are written.
  WavEncoding encoding = WavEncoding::Signed16;
  // Samples of a frame.
  std::int64_t channels = 0;
  // Frames of a second.
  std::int64_t sample_rate = 0;
  // Its length.
  std::int64_t frames = 0;
  // The samples, frame by frame.
  std::string_view samples = {};
};

// Finds the sound in a WAV file: PCM of 8, 16, 24 or 32 bits, or floats. Throws DataLoss where it is cut off or its
// sizes contradict each other, InvalidArgument for an encoding that is not read here.
//   bytes: the whole file; what is found refers to them.
//   name: of the file, for errors.
WavAudio find_wav_audio(std::string_view bytes, std::string_view name);

// Writes the first frames as float32: integers from -1 to 1, floats as they are; zeros behind the last.
//   frames: how many are written.
void decode_wav(const WavAudio& audio, float* target, std::int64_t frames);

}  // namespace cohort::datasets
