#include "cohort/datasets/sources/wav.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cohort/datasets/sources/wav_audio.h"
#include "cohort/files/wav.h"
#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::string wav_bytes_of(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string wav_chunk(const std::string& kind, const std::string& bytes) {
  return kind + wav_bytes_of(static_cast<std::uint32_t>(bytes.size())) + bytes + std::string(bytes.size() % 2, '\0');
}

std::string wav_format(int tag, int channels, int bits) {
  return wav_chunk("fmt ", wav_bytes_of(static_cast<std::uint16_t>(tag)) +
                               wav_bytes_of(static_cast<std::uint16_t>(channels)) + wav_bytes_of(std::uint32_t{8000}) +
                               wav_bytes_of(static_cast<std::uint32_t>(8000 * channels * bits / 8)) +
                               wav_bytes_of(static_cast<std::uint16_t>(channels * bits / 8)) +
                               wav_bytes_of(static_cast<std::uint16_t>(bits)));
}

std::string wav_file(const std::string& chunks) {
  return "RIFF" + wav_bytes_of(static_cast<std::uint32_t>(chunks.size() + 4)) + "WAVE" + chunks;
}

std::vector<float> decoded(const std::string& bytes) {
  const WavAudio audio = find_wav_audio(bytes, "a.wav");
  std::vector<float> samples(static_cast<std::size_t>(audio.frames * audio.channels));
  decode_wav(audio, samples.data(), audio.frames);
  return samples;
}

std::string sound(const std::vector<float>& samples, std::int64_t channels = 1) {
  return encode_wav(samples, channels, 8000);
}

TEST(WavAudio, DecodesEveryEncoding) {
  using namespace std::string_literals;
  const auto file = [](int tag, int bits, const std::string& samples) {
    return decoded(wav_file(wav_format(tag, 1, bits) + wav_chunk("data", samples)));
  };
  EXPECT_THAT(file(1, 8, "\x00\x80\xC0\xFF"s), ElementsAre(-1.0f, 0.0f, 0.5f, 127.0f / 128));
  EXPECT_THAT(file(1, 16, "\x00\x80\x00\x40\xFF\x7F"s), ElementsAre(-1.0f, 0.5f, 32767.0f / 32768));
  EXPECT_THAT(file(1, 24, "\x00\x00\x80\x00\x00\x40"s), ElementsAre(-1.0f, 0.5f));
  EXPECT_THAT(file(1, 32, "\x00\x00\x00\x80\x00\x00\x00\x40"s), ElementsAre(-1.0f, 0.5f));
  EXPECT_THAT(file(3, 32, wav_bytes_of(1.5f)), ElementsAre(1.5f));
  EXPECT_THAT(file(3, 64, wav_bytes_of(-0.25)), ElementsAre(-0.25f));
}

TEST(WavAudio, PassesOtherPartsByAndReadsTheExtensibleFormat) {
  std::string extensible = wav_format(0xFFFE, 1, 16);
  extensible +=
      wav_bytes_of(std::uint16_t{22}) + std::string(6, '\0') + wav_bytes_of(std::uint16_t{1}) + std::string(14, '\0');
  extensible[4] = 40;
  const std::string bytes = wav_file(wav_chunk("JUNK", "odd") + extensible + wav_chunk("LIST", "abc") +
                                     wav_chunk("data", "\x01\x40") + "tail");
  EXPECT_THAT(decoded(bytes), ElementsAre(16385.0f / 32768));
}

TEST(WavAudio, RefusesWhatIsCutOffOrContradictsItself) {
  const std::string good = sound({0.5f, -0.5f, 0.25f});
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(error_of([&] { decoded(good.substr(0, length)); }), HasSubstr("a.wav")) << length;
  }
  const auto error = [](const std::string& chunks) { return error_of([&] { decoded(wav_file(chunks)); }); };
  const std::string data = wav_chunk("data", "\x01\x40");
  EXPECT_THAT(error(data), HasSubstr("samples come before their format"));
  EXPECT_THAT(error(wav_format(1, 1, 16)), HasSubstr("no part with samples"));
  EXPECT_THAT(error(wav_format(1, 0, 16) + data), HasSubstr("no channel"));
  EXPECT_THAT(error(wav_format(2, 1, 16) + data), HasSubstr("format=2"));
  EXPECT_THAT(error(wav_format(1, 1, 12) + data), HasSubstr("bits=12"));
  std::string lying = wav_format(1, 1, 16);
  lying[20] = 7;
  EXPECT_THAT(error(lying + data), HasSubstr("the size of a frame"));
  EXPECT_THAT(error(wav_format(1, 1, 16) + "data\xFF\xFF\xFF\xFF"), HasSubstr("beyond its end"));
}

std::vector<std::string> wav_files() {
  const std::string folder = shared_folder().path().string();
  return {write_file(folder + "/short.wav", sound({0.5f, -0.5f})), write_file(folder + "/damaged.wav", "no sound"),
          write_file(folder + "/stereo.wav", sound({0.25f, 0.5f, -0.25f, -0.5f, 1.0f, -1.0f}, 2))};
}

TEST(Wav, AnElementForEachFileAndErrorsInTheirPlaces) {
  const Dataset dataset = wav(wav_files());
  EXPECT_EQ(to_string(dataset.element_spec()), "float32(None, None)");
  EXPECT_THAT(texts(dataset), ElementsAre(HasSubstr("float32(2, 1):0.5"), "error", HasSubstr("float32(3, 2):0.25")));
  expect_exact_positions(dataset);
}

TEST(Wav, CutsAndFillsUpToTheLengthAskedFor) {
  const std::vector<std::string> files = wav_files();
  EXPECT_THAT(texts(wav({files[0], files[2]}, {.desired_samples = 3})),
              ElementsAre("float32(3, 1):0.500000|-0.500000|0.000000|", HasSubstr("float32(3, 2):")));
  EXPECT_THAT(texts(wav({files[0]}, {.desired_samples = 1})), ElementsAre("float32(1, 1):0.500000|"));
  EXPECT_THAT(texts(wav({files[0]}, {.desired_samples = std::int64_t{1} << 40})), ElementsAre("error"));
}

TEST(Wav, AFileThatHasChangedIsAnError) {
  const std::string path = write_file(shared_folder().file("changing.wav"), sound({0.5f}));
  const Dataset dataset = wav({path}), at_8000 = wav({path}, {.sampling_rate = 8000});
  EXPECT_EQ(texts(at_8000), texts(dataset));
  EXPECT_THAT(texts(wav({path}, {.sampling_rate = 16000})), ElementsAre("error"));
  write_file(path, sound({0.5f, 0.5f}));
  const auto iterator = dataset.make_iterator();
  Tensors element;
  EXPECT_THAT(error_of([&] { iterator->next(element); }), HasSubstr("Make the dataset again"));
}

}  // namespace
}  // namespace cohort::datasets::test
