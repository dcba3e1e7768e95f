#include "cohort/datasets/sources/every_nth_slice.h"

#include <cstring>

namespace cohort::datasets {
namespace {

Tensor every_nth_row(const Tensor& from, std::int64_t n, std::int64_t first) {
  Shape shape = from.shape();
  const std::int64_t rows = shape[0];
  shape[0] = rows > first ? (rows - first - 1) / n + 1 : 0;
  const auto width = static_cast<std::size_t>(from.shape().slice(1).num_elements());
  if (from.dtype() == DType::String) {
    const auto* strings = static_cast<const std::string*>(from.raw());
    std::vector<std::string> taken;
    for (std::int64_t row = first; row < rows; row += n) {
      const std::string* begin = strings + static_cast<std::size_t>(row) * width;
      taken.insert(taken.end(), begin, begin + width);
    }
    return Tensor::of_strings(std::move(taken), shape);
  }
  Tensor to = Tensor::empty(from.dtype(), shape, cpu());
  const std::size_t bytes = width * size_of(from.dtype());
  const auto* source = static_cast<const char*>(from.raw());
  auto* target = static_cast<char*>(to.raw());
  for (std::int64_t row = first; bytes > 0 && row < rows; row += n, target += bytes) {
    std::memcpy(target, source + static_cast<std::size_t>(row) * bytes, bytes);
  }
  return to;
}

}  // namespace

bool is_tensor_slices(const Dataset& dataset) { return dataset.kind() == "tensor_slices"; }

Dataset every_nth_slice(const Dataset& slices, std::int64_t n, std::int64_t first) {
  if (n == 1 && first == 0) return slices;
  Attributes attributes;
  for (const Attributes::Entry& entry : slices.attributes()) {
    const auto* rows = std::get_if<Tensor>(&entry.value);
    attributes.set(entry.name, rows ? AttributeValue(every_nth_row(*rows, n, first)) : entry.value);
  }
  // The rows stay known by their numbers in the whole.
  const auto start = attributes.get<std::int64_t>(kFirstNumber, 0), step = attributes.get<std::int64_t>(kNumberStep, 1);
  attributes.set(kFirstNumber, AttributeValue(start + first * step));
  attributes.set(kNumberStep, AttributeValue(step * n));
  return Dataset::make(slices.kind(), {}, std::move(attributes));
}

}  // namespace cohort::datasets
