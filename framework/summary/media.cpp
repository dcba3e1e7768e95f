#include <algorithm>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/files/png.h"
#include "cohort/files/wav.h"
#include "cohort/summary/event.h"
#include "cohort/summary/event_writer.h"

namespace cohort::summary {
namespace {

void check_max_outputs(const char* who, std::int64_t max_outputs) {
  if (max_outputs < 0) throw invalid_argument(who, "max_outputs must not be negative", {{"max_outputs", max_outputs}});
}

// As TensorFlow makes bytes of floats: 1 and a little less are 255, and nothing wraps around.
std::vector<std::uint8_t> pixels_of(const Tensor& images) {
  if (images.dtype() == DType::UInt8) return images.to_vector<std::uint8_t>();
  const std::vector<float> values = images.to_vector<float>();
  std::vector<std::uint8_t> pixels(values.size());
  std::transform(values.begin(), values.end(), pixels.begin(), [](float value) {
    const float scaled = value * 255.5f;
    return scaled >= 0.0f ? static_cast<std::uint8_t>(std::min(scaled, 255.0f)) : std::uint8_t{0};  // NaN is 0
  });
  return pixels;
}

void set_media_strings(TensorProto& tensor, std::vector<std::string> strings,
                       std::initializer_list<std::int64_t> shape) {
  tensor.set_dtype(kTensorFlowString);
  for (const std::int64_t size : shape) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  for (std::string& text : strings) tensor.add_string_val(std::move(text));
}

}  // namespace

void EventWriter::add_image(const std::string& tag, const Tensor& image, std::int64_t step, ImageOptions options) {
  if (image.rank() != 2 && image.rank() != 3) {
    throw invalid_argument("EventWriter.add_image",
                           "an image of shape (height, width) or (height, width, channels) is expected",
                           {{"image.shape", image.shape()}}, "Use add_images for several.");
  }
  Shape shape{1};
  for (const std::int64_t size : image.shape()) shape.push_back(size);
  if (image.rank() == 2) shape.push_back(1);
  add_images(tag, image.view(shape), step, std::move(options));
}

void EventWriter::add_images(const std::string& tag, const Tensor& images, std::int64_t step, ImageOptions options) {
  constexpr const char* kWho = "EventWriter.add_images";
  check_max_outputs(kWho, options.max_outputs);
  if (images.rank() != 4 || images.shape()[1] < 1 || images.shape()[2] < 1 || images.shape()[3] < 1 ||
      images.shape()[3] > 4) {
    throw invalid_argument(kWho, "images of shape (count, height, width, channels), channels 1 to 4, are expected",
                           {{"images.shape", images.shape()}});
  }
  if (images.dtype() != DType::UInt8 && !is_floating(images.dtype())) {
    throw invalid_argument(kWho, "pixels must be uint8, or floating numbers from 0 to 1",
                           {{"images.dtype", to_string(images.dtype())}}, "Cast them.");
  }
  const std::int64_t count = std::min(images.shape()[0], options.max_outputs);
  const std::int64_t height = images.shape()[1], width = images.shape()[2], channels = images.shape()[3];
  const std::vector<std::uint8_t> pixels = pixels_of(images.to_host().rows(0, count));
  const auto size = static_cast<std::size_t>(height * width * channels);
  std::vector<std::string> strings{std::to_string(width), std::to_string(height)};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    strings.push_back(encode_png(std::span(pixels).subspan(i * size, size), height, width, channels));
  }
  Event event = new_event(step);
  Summary::Value& value = add_value(event, tag, "images");
  value.mutable_metadata()->set_summary_description(options.description);
  set_media_strings(*value.mutable_tensor(), std::move(strings), {count + 2});
  add(event);
}

void EventWriter::add_audio(const std::string& tag, const Tensor& audio, std::int64_t sample_rate, std::int64_t step,
                            AudioOptions options) {
  constexpr const char* kWho = "EventWriter.add_audio";
  check_max_outputs(kWho, options.max_outputs);
  const int rank = audio.rank();
  if (rank < 1 || rank > 3 || (rank > 1 && audio.shape()[rank - 1] < 1)) {
    throw invalid_argument(kWho,
                           "sound of shape (frames,), (frames, channels) or (clips, frames, channels) is expected",
                           {{"audio.shape", audio.shape()}});
  }
  if (!is_floating(audio.dtype())) {
    throw invalid_argument(kWho, "samples must be floating numbers from -1 to 1",
                           {{"audio.dtype", to_string(audio.dtype())}}, "Divide by the largest and cast.");
  }
  const std::int64_t channels = rank == 1 ? 1 : audio.shape()[rank - 1];
  const std::int64_t frames = audio.shape()[rank == 3 ? 1 : 0];
  const std::int64_t count = std::min(rank == 3 ? audio.shape()[0] : 1, options.max_outputs);
  const std::vector<float> samples = audio.to_vector<float>();
  const auto size = static_cast<std::size_t>(frames * channels);
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    strings.push_back(encode_wav(std::span(samples).subspan(i * size, size), channels, sample_rate));
    strings.emplace_back();  // a clip's label, which the page no longer shows
  }
  Event event = new_event(step);
  Summary::Value& value = add_value(event, tag, "audio", "\x10\x0b");  // encoding = WAV
  value.mutable_metadata()->set_summary_description(options.description);
  set_media_strings(*value.mutable_tensor(), std::move(strings), {count, 2});
  add(event);
}

}  // namespace cohort::summary
