#include "cohort/datasets/images/resize_image.h"

#include <algorithm>
#include <cctype>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <numbers>

#include "cohort/core/error.h"

namespace cohort::datasets {
namespace {

typedef float FourFloats __attribute__((vector_size(16)));

// Positions of the table of TensorFlow's bicubic weights.
constexpr int kCubicSteps = 1024;
// A row that is more times as wide as the target is read where it is needed, and not converted as a whole.
constexpr std::int64_t kMostWidened = 4;
// A sum of weights below this is none.
constexpr float kLeastWeight = 1000 * FLT_MIN;

FourFloats four_floats(const float* values) {
  FourFloats four;
  std::memcpy(&four, values, sizeof four);
  return four;
}

// A row in floats, with its last pixel twice: the right neighbor of any pixel is the next one.
void widen_line(const std::uint8_t* row, std::int64_t pixels, std::int64_t channels, float* target) {
  const std::int64_t size = pixels * channels;
  for (std::int64_t i = 0; i < size; ++i) target[i] = static_cast<float>(row[i]);
  std::copy(target + size - channels, target + size, target + size);
}

// Pixels of 3 or 4 channels, four at a time: what is written past a pixel is the next one's place.
template <int channels>
void resize_wide_line_of_two(const float* row, std::int64_t width, const std::int32_t* first, const float* weights,
                             float* target) {
  for (std::int64_t x = 0; x < width; ++x) {
    const float* left = row + std::int64_t{first[x]} * channels;
    const FourFloats a = four_floats(left), b = four_floats(left + channels);
    const FourFloats value = a + (b - a) * weights[2 * x + 1];
    std::memcpy(target + x * channels, &value, sizeof value);
  }
}

void resize_line_of_two(const std::uint8_t* row, std::int64_t width, std::int64_t channels, const std::int32_t* first,
                        const float* weights, std::int64_t last, float* target) {
  for (std::int64_t x = 0; x < width; ++x) {
    const std::int64_t left = first[x], right = std::min(left + 1, last);
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto a = static_cast<float>(row[left * channels + c]), b = static_cast<float>(row[right * channels + c]);
      target[x * channels + c] = a + (b - a) * weights[2 * x + 1];
    }
  }
}

float cubic_weight(int step, bool far) {
  constexpr float kA = -0.5F;
  const float x = static_cast<float>(step) / kCubicSteps + (far ? 1.0F : 0.0F);
  return far ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA : ((kA + 2) * x - (kA + 3)) * x * x + 1;
}

float kernel_radius(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::Lanczos3:
      return 3;
    case Interpolation::Lanczos5:
      return 5;
    case Interpolation::Gaussian:
      return 1.5F;
    default:
      return 2;
  }
}

float kernel_weight(Interpolation interpolation, float x) {
  x = std::fabs(x);
  const float radius = kernel_radius(interpolation);
  if (interpolation == Interpolation::Gaussian) {
    const float sigma = radius / 3;
    return x >= radius ? 0 : std::exp(-x * x / (2 * sigma * sigma));
  }
  if (interpolation == Interpolation::MitchellCubic) {
    if (x >= 2) return 0;
    if (x >= 1) return (((-7.0F / 18) * x + 2) * x - 10.0F / 3) * x + 16.0F / 9;
    return (7.0F / 6 * x - 2) * x * x + 8.0F / 9;
  }
  if (x > radius) return 0;
  if (x <= 1e-3F) return 1;
  constexpr auto kPi = std::numbers::pi_v<float>;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

void normalize(float* weights, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += weights[i];
  if (std::fabs(sum) < kLeastWeight) return;
  for (std::int64_t i = 0; i < count; ++i) weights[i] /= sum;
}

float scale_of(std::int64_t input, std::int64_t output) {
  return static_cast<float>(input) / static_cast<float>(output);
}

}  // namespace

Interpolation interpolation_of(const char* who, const std::string& name) {
  static constexpr std::array<const char*, 8> kNames{"bilinear", "nearest",  "bicubic",  "area",
                                                     "lanczos3", "lanczos5", "gaussian", "mitchellcubic"};
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto* found = std::find(kNames.begin(), kNames.end(), lower);
  if (found == kNames.end()) {
    throw invalid_argument(who,
                           "interpolation must be 'bilinear', 'nearest', 'bicubic', 'area', 'lanczos3', 'lanczos5', "
                           "'gaussian' or 'mitchellcubic'",
                           {{"interpolation", name}});
  }
  return static_cast<Interpolation>(found - kNames.begin());
}

void ImageResizer::Axis::begin(std::int64_t size, std::int64_t most_taps) {
  taps = most_taps;
  first.resize(static_cast<std::size_t>(size));
  weights.assign(static_cast<std::size_t>(size * taps), 0.0F);
}

float* ImageResizer::Axis::set(std::int64_t at, std::int64_t start) {
  first[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(start);
  return weights.data() + at * taps;
}

void ImageResizer::plan(std::int64_t input, std::int64_t output, Axis& axis) const {
  switch (options_.interpolation) {
    case Interpolation::Bilinear:
      return plan_bilinear(input, output, axis);
    case Interpolation::Bicubic:
      return plan_bicubic(input, output, axis);
    case Interpolation::Area:
      return plan_area(input, output, axis);
    case Interpolation::Nearest: {
      axis.begin(output, 1);
      const float scale = scale_of(input, output);
      for (std::int64_t i = 0; i < output; ++i) {
        const auto at = static_cast<std::int64_t>(std::floor((static_cast<float>(i) + 0.5F) * scale));
        *axis.set(i, std::min(at, input - 1)) = 1;
      }
      return;
    }
    default:
      return plan_kernel(input, output, axis);
  }
}

void ImageResizer::plan_bilinear(std::int64_t input, std::int64_t output, Axis& axis) const {
  axis.begin(output, 2);
  const float scale = scale_of(input, output);
  for (std::int64_t i = 0; i < output; ++i) {
    const float at = (static_cast<float>(i) + 0.5F) * scale - 0.5F;
    const auto before = static_cast<std::int64_t>(std::floor(at));
    // Before the first pixel it is the first alone.
    const float part = before < 0 ? 0 : at - std::floor(at);
    float* weights = axis.set(i, std::clamp<std::int64_t>(before, 0, input - 1));
    weights[0] = 1 - part;
    weights[1] = part;
  }
}

void ImageResizer::plan_bicubic(std::int64_t input, std::int64_t output, Axis& axis) const {
  axis.begin(output, 4);
  const float scale = scale_of(input, output);
  for (std::int64_t i = 0; i < output; ++i) {
    const float at = (static_cast<float>(i) + 0.5F) * scale - 0.5F;
    const auto before = std::min(static_cast<std::int64_t>(std::floor(at)), input - 1);
    const auto step = static_cast<int>(std::lrint((at - std::floor(at)) * kCubicSteps));
    const float all[]{cubic_weight(step, true), cubic_weight(step, false), cubic_weight(kCubicSteps - step, false),
                      cubic_weight(kCubicSteps - step, true)};
    // Of those outside of the image nothing is taken.
    const std::int64_t start = std::max<std::int64_t>(before - 1, 0), end = std::min(before + 3, input);
    float* inside = axis.set(i, start);
    for (std::int64_t pixel = start; pixel < end; ++pixel) inside[pixel - start] = all[pixel - (before - 1)];
    normalize(inside, end - start);
  }
}

void ImageResizer::plan_area(std::int64_t input, std::int64_t output, Axis& axis) const {
  const float scale = scale_of(input, output);
  axis.begin(output, std::min(static_cast<std::int64_t>(std::ceil(scale)) + 2, input));
  for (std::int64_t i = 0; i < output; ++i) {
    const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    const std::int64_t start = std::min(static_cast<std::int64_t>(std::floor(begin)), input - 1);
    const std::int64_t stop = std::min(static_cast<std::int64_t>(std::ceil(end)), input);
    const std::int64_t count = std::clamp<std::int64_t>(stop - start, 1, axis.taps);
    float* parts = axis.set(i, start);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto pixel = static_cast<float>(start + k);
      parts[k] = std::max(std::min(end, pixel + 1) - std::max(begin, pixel), 0.0F);
    }
    normalize(parts, count);
  }
}

void ImageResizer::plan_kernel(std::int64_t input, std::int64_t output, Axis& axis) const {
  const Interpolation interpolation = options_.interpolation;
  // In TensorFlow's order: whether a pixel is just inside of the kernel is a matter of the last bit.
  const float radius = kernel_radius(interpolation), scale = 1 / scale_of(output, input);
  axis.begin(output, std::min(2 * static_cast<std::int64_t>(std::ceil(radius)) + 1, input));
  for (std::int64_t i = 0; i < output; ++i) {
    const float at = (static_cast<float>(i) + 0.5F) * scale;
    const auto start = std::clamp(static_cast<std::int64_t>(std::ceil(at - radius - 0.5F)), std::int64_t{0}, input - 1);
    // Far from 0, floats are coarser than pixels.
    const auto last = std::clamp(static_cast<std::int64_t>(std::floor(at + radius - 0.5F)), start,
                                 std::min(start + axis.taps, input) - 1);
    float* inside = axis.set(i, start);
    for (std::int64_t pixel = start; pixel <= last; ++pixel) {
      inside[pixel - start] = kernel_weight(interpolation, static_cast<float>(pixel) + 0.5F - at);
    }
    normalize(inside, last + 1 - start);
  }
}

ImageResizer::Box ImageResizer::box_of(const DecodedImage& image) const {
  const std::int64_t height = image.height(), width = image.width();
  if (options_.aspect_ratio != AspectRatio::Crop) return {0, 0, height, width};
  // In float32, as Keras computes it.
  const auto part = [](std::int64_t other, std::int64_t target, std::int64_t other_target, std::int64_t most) {
    const auto size = static_cast<std::int64_t>(static_cast<float>(other * target) / static_cast<float>(other_target));
    return std::max<std::int64_t>(std::min(most, size), 1);
  };
  const std::int64_t inner_height = part(width, options_.height, options_.width, height);
  const std::int64_t inner_width = part(height, options_.width, options_.height, width);
  return {(height - inner_height) / 2, (width - inner_width) / 2, inner_height, inner_width};
}

ImageResizer::Box ImageResizer::target_box(const DecodedImage& image) const {
  if (options_.aspect_ratio != AspectRatio::Pad) return {0, 0, options_.height, options_.width};
  // In float32, as tf.image.resize_with_pad computes it.
  const auto height = static_cast<float>(image.height()), width = static_cast<float>(image.width());
  const auto target_height = static_cast<float>(options_.height), target_width = static_cast<float>(options_.width);
  const float ratio = std::max(width / target_width, height / target_height);
  const float inner_height = height / ratio, inner_width = width / ratio;
  const auto before = [](float target, float inner) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor((target - inner) / 2)), 0);
  };
  const auto whole = [](float inner, std::int64_t most) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(inner)), 0, most);
  };
  return {before(target_height, inner_height), before(target_width, inner_width), whole(inner_height, options_.height),
          whole(inner_width, options_.width)};
}

void ImageResizer::resize(const DecodedImage& image, float* target) {
  const Box from = box_of(image), to = target_box(image);
  const std::int64_t channels = image.channels(), target_row = options_.width * channels;
  if (to.height < options_.height || to.width < options_.width) {
    std::fill(target, target + options_.height * target_row, 0.0F);
  }
  if (to.height < 1 || to.width < 1) return;
  plan(from.height, to.height, rows_);
  plan(from.width, to.width, columns_);
  line_size_ = static_cast<std::size_t>(to.width * channels) + 4;
  lines_.resize(line_size_ * static_cast<std::size_t>(rows_.taps));
  line_rows_.assign(static_cast<std::size_t>(rows_.taps), -1);
  for (std::int64_t y = 0; y < to.height; ++y) {
    combine(image, from, y, target + (to.top + y) * target_row + to.left * channels);
  }
}

// A row of the box, resized along its width; kept until another one needs its place.
const float* ImageResizer::line(const DecodedImage& image, const Box& box, std::int64_t row) {
  const auto place = static_cast<std::size_t>(row % rows_.taps);
  float* target = lines_.data() + place * line_size_;
  if (line_rows_[place] == row) return target;
  line_rows_[place] = row;
  const std::int64_t channels = image.channels(), taps = columns_.taps;
  const auto width = static_cast<std::int64_t>(columns_.first.size());
  const std::uint8_t* source = image.row(box.top + row) + box.left * channels;
  const std::int32_t* first = columns_.first.data();
  const float* weights = columns_.weights.data();
  if (options_.interpolation == Interpolation::Bilinear) {
    if (channels < 3 || box.width > kMostWidened * width) {
      resize_line_of_two(source, width, channels, first, weights, box.width - 1, target);
      return target;
    }
    widened_.resize(static_cast<std::size_t>((box.width + 1) * channels) + 4);
    widen_line(source, box.width, channels, widened_.data());
    const auto resize = channels == 3 ? resize_wide_line_of_two<3> : resize_wide_line_of_two<4>;
    resize(widened_.data(), width, first, weights, target);
    return target;
  }
  for (std::int64_t x = 0; x < width; ++x) {
    const std::int64_t count = std::min(taps, box.width - first[x]);
    for (std::int64_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        sum += weights[x * taps + k] * static_cast<float>(source[(first[x] + k) * channels + c]);
      }
      target[x * channels + c] = sum;
    }
  }
  return target;
}

void ImageResizer::combine(const DecodedImage& image, const Box& box, std::int64_t row, float* target) {
  const std::int64_t first = rows_.first[static_cast<std::size_t>(row)];
  const float* weights = rows_.weights.data() + row * rows_.taps;
  const std::size_t size = line_size_ - 4;
  const float* top = line(image, box, first);
  if (options_.interpolation == Interpolation::Bilinear) {
    const float* bottom = line(image, box, std::min(first + 1, box.height - 1));
    const float part = weights[1];
    for (std::size_t i = 0; i < size; ++i) target[i] = top[i] + (bottom[i] - top[i]) * part;
    return;
  }
  for (std::size_t i = 0; i < size; ++i) target[i] = weights[0] * top[i];
  const std::int64_t count = std::min(rows_.taps, box.height - first);
  for (std::int64_t k = 1; k < count; ++k) {
    if (weights[k] == 0) continue;
    const float* next = line(image, box, first + k);
    for (std::size_t i = 0; i < size; ++i) target[i] += weights[k] * next[i];
  }
}

void ImageResizer::make_room_like(const ImageResizer& other) {
  const auto reserve = [](auto& here, const auto& there) { here.reserve(there.capacity()); };
  reserve(rows_.first, other.rows_.first);
  reserve(rows_.weights, other.rows_.weights);
  reserve(columns_.first, other.columns_.first);
  reserve(columns_.weights, other.columns_.weights);
  reserve(widened_, other.widened_);
  reserve(lines_, other.lines_);
  reserve(line_rows_, other.line_rows_);
}

}  // namespace cohort::datasets
