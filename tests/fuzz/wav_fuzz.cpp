#include <string>
#include <vector>

#include "cohort/datasets/sources/wav_audio.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  // What the file claims is never more than it has, so that its sound fits into memory of the file's size.
  const std::string_view given = fuzz::text_of(bytes, count);
  return fuzz::read_or_refuse([&] {
    const datasets::WavAudio audio = datasets::find_wav_audio(given, "fuzzed");
    const auto samples = static_cast<std::size_t>(audio.frames) * static_cast<std::size_t>(audio.channels);
    fuzz::require(audio.channels > 0 && samples <= given.size());
    std::vector<float> decoded(samples + static_cast<std::size_t>(audio.channels));
    datasets::decode_wav(audio, decoded.data(), audio.frames);
    datasets::decode_wav(audio, decoded.data(), audio.frames + 1);
    if (audio.frames > 0) datasets::decode_wav(audio, decoded.data(), audio.frames - 1);
  });
}
