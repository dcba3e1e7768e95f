#include "benchmarks/input_jobs.h"

#include <random>
#include <tuple>
#include <utility>

namespace cohort::bench {
namespace {

constexpr std::int64_t kImagesOfSet = 60'000, kSide = 28;

std::pair<Tensor, Tensor> made_up_images() {
  std::mt19937 random(0);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kImagesOfSet * kSide * kSide));
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() >> 24);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(kImagesOfSet));
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(random() % 10);
  return {Tensor::of(pixels, {kImagesOfSet, kSide, kSide}), Tensor::of(labels, {kImagesOfSet})};
}

// Bytes and labels.
std::pair<Tensor, Tensor> images_of_set() {
  try {
    const Element all = datasets::fashion_mnist().first.batch(kImagesOfSet).iterator().next();
    return {all[0].leaf(), ops::cast(all[1].leaf(), DType::Int32)};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
    return made_up_images();
  }
}

// Of one image or of a batch; bytes are mirrored faster than floats.
Tensor as_input(const Tensor& pixels, const Tensor& draws, const std::vector<std::int64_t>& shape) {
  const Tensor mirrored = ops::where(draws < 0.5, ops::flip(pixels, {-1}), pixels);
  return ops::reshape(ops::cast(mirrored, DType::Float32) / 255.0, shape);
}

Dataset in_batches(const Dataset& images, std::int64_t batch) { return images.batch(batch, {.drop_remainder = true}); }

}  // namespace

Dataset image_input(const std::string& name, std::int64_t batch) {
  const auto [x, y] = images_of_set();
  if (name == "tensors") {
    const Tensor floats = ops::reshape(ops::cast(x, DType::Float32) / 255.0, {-1, kSide * kSide});
    return in_batches(datasets::from_tensor_slices(floats, y).shuffle(kImagesOfSet), batch).prefetch(kAutotune);
  }
  const Dataset images = datasets::from_tensor_slices(x, y).shuffle(kImagesOfSet);
  if (name == "map_batches") {
    const auto augment = [batch](const Tensor& pixels, const Tensor& labels) {
      return std::tuple(as_input(pixels, ops::random_uniform({batch, 1, 1}), {batch, kSide * kSide}), labels);
    };
    return in_batches(images, batch).map(augment, {.num_parallel_calls = kAutotune}).prefetch(kAutotune);
  }
  if (name == "map_elements") {
    const auto augment = [](const Tensor& pixels, const Tensor& label) {
      return std::tuple(as_input(pixels, ops::random_uniform({}), {kSide * kSide}), label);
    };
    return in_batches(images.map(augment, {.num_parallel_calls = kAutotune}), batch).prefetch(kAutotune);
  }
  throw invalid_argument("cohort-bench", "an input of the job mlp is expected", {{"input", name}});
}

std::vector<std::string> image_input_names() { return {"tensors", "map_batches", "map_elements"}; }

}  // namespace cohort::bench
