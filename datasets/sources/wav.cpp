#include "cohort/datasets/sources/wav.h"

#include "cohort/core/error.h"
#include "cohort/datasets/sources/file_elements.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/wav_audio.h"
#include "cohort/datasets/transforms/workspaces.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWavFiles = "datasets.wav";
constexpr std::int64_t kMostSamples = std::int64_t{1} << 30;

// The bytes of a file while its sound is decoded.
struct WavFileBytes {
  std::string bytes;
  void make_room_like(const WavFileBytes& other) { bytes.reserve(other.bytes.capacity()); }
  void reserve(std::size_t) {}
};

class WavFileReader : public FileReader {
 public:
  explicit WavFileReader(const WavOptions& options) : options_(options) {}

  void read(const InputFile& file, Tensors& element) const override {
    const Workspaces<WavFileBytes>::Lease lease(files_);
    read_whole_file(kWavFiles, file, UINT64_MAX, lease->bytes);
    const WavAudio audio = find_wav_audio(lease->bytes, file.path);
    if (options_.sampling_rate > 0 && audio.sample_rate != options_.sampling_rate) {
      throw invalid_argument(
          kWavFiles, "a file of the sampling rate asked for is expected",
          {{"file", file.path}, {"sample_rate", audio.sample_rate}, {"sampling_rate", options_.sampling_rate}},
          "Convert the file: sounds are not resampled here.");
    }
    const std::int64_t frames = options_.desired_samples < 0 ? audio.frames : options_.desired_samples;
    // What is filled up has no bytes in the file that could vouch for it.
    if (frames > kMostSamples / audio.channels) {
      throw invalid_argument(kWavFiles, "an element of at most 2^30 samples is expected",
                             {{"file", file.path}, {"samples", frames}, {"channels", audio.channels}});
    }
    element.resize(1);
    element[0].renew(DType::Float32, {frames, audio.channels}, cpu());
    decode_wav(audio, static_cast<float*>(element[0].raw()), frames);
  }

 private:
  WavOptions options_;
  mutable Workspaces<WavFileBytes> files_{[] { return std::make_unique<WavFileBytes>(); }};
};

void check_wav_options(const WavOptions& options) {
  if (options.desired_samples < -1) {
    throw invalid_argument(kWavFiles, "a number of samples, or -1, is expected",
                           {{"desired_samples", options.desired_samples}});
  }
  if (options.sampling_rate < 0) {
    throw invalid_argument(kWavFiles, "a sampling rate of at least 0 is expected",
                           {{"sampling_rate", options.sampling_rate}});
  }
}

std::shared_ptr<const DatasetStage> make_wav(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kWavFiles, inputs);
  const WavOptions options{attributes.get<std::int64_t>("desired_samples"),
                           attributes.get<std::int64_t>("sampling_rate")};
  check_wav_options(options);
  const TensorSpec spec{DType::Float32, {options.desired_samples < 0 ? kUnknown : options.desired_samples, kUnknown}};
  return stage_of_files(input_files_of(kWavFiles, attributes), spec, std::make_shared<const WavFileReader>(options));
}

COHORT_DATASET("wav", make_wav);

}  // namespace

Dataset wav(const std::vector<std::string>& files, const WavOptions& options) {
  check_wav_options(options);
  Attributes attributes{{"desired_samples", options.desired_samples}, {"sampling_rate", options.sampling_rate}};
  add_input_files(find_input_files(kWavFiles, files), attributes);
  return Dataset::make("wav", {}, std::move(attributes));
}

}  // namespace cohort::datasets
