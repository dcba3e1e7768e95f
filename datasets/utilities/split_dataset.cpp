#include "cohort/datasets/utilities/split_dataset.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/datasets/utilities/python_random.h"

namespace cohort::utils {
namespace {

constexpr const char* kSplitDataset = "utils.split_dataset";
constexpr std::uint64_t kDrawnUpTo = 1000000;  // as Keras draws a seed

const std::int64_t* elements_of(const SplitSize& size) { return std::get_if<std::int64_t>(&size.value); }
const double* fraction_of(const SplitSize& size) { return std::get_if<double>(&size.value); }
bool is_given(const SplitSize& size) { return !std::holds_alternative<std::monostate>(size.value); }

std::string shown_size(const SplitSize& size) {
  if (const auto* elements = elements_of(size)) return std::to_string(*elements);
  if (const auto* part = fraction_of(size)) return std::to_string(*part);
  return "none";
}

void check_size(const char* name, const SplitSize& size, std::int64_t total) {
  const auto* elements = elements_of(size);
  const auto* part = fraction_of(size);
  if ((!elements || (*elements > 0 && *elements < total)) && (!part || (*part > 0 && *part < 1))) return;
  throw invalid_argument(kSplitDataset,
                         std::string("`") + name + "` should be either a positive integer smaller than " +
                             std::to_string(total) + ", or a float within the range `[0, 1]`",
                         {{name, shown_size(size)}});
}

// Python's round: halves to the even number.
std::int64_t elements_for(const SplitSize& size, std::int64_t total) {
  if (const auto* elements = elements_of(size)) return *elements;
  return std::llrint(*fraction_of(size) * static_cast<double>(total));
}

std::pair<std::int64_t, std::int64_t> sizes_of_split(const SplitSize& left, const SplitSize& right,
                                                     std::int64_t total) {
  check_size("left_size", left, total);
  check_size("right_size", right, total);
  if (fraction_of(left) && fraction_of(right) && *fraction_of(left) + *fraction_of(right) > 1) {
    throw invalid_argument(kSplitDataset, "The sum of `left_size` and `right_size` must be less than or equal to 1",
                           {{"left_size", shown_size(left)}, {"right_size", shown_size(right)}});
  }
  const std::int64_t first = is_given(left) ? elements_for(left, total) : total - elements_for(right, total);
  const std::int64_t last = is_given(right) ? elements_for(right, total) : total - first;
  if (first + last > total) {
    throw invalid_argument(kSplitDataset,
                           "The sum of `left_size` and `right_size` should be smaller than " + std::to_string(total),
                           {{"left_size", first}, {"right_size", last}});
  }
  if (first == 0 || last == 0) {
    throw invalid_argument(kSplitDataset, "a split of which neither side is empty is expected",
                           {{"elements", total}, {"left_size", first}, {"right_size", last}});
  }
  return {first, last};
}

std::vector<Tensors> elements_in_memory(const Dataset& dataset) {
  std::vector<Tensors> all;
  const auto iterator = dataset.make_iterator();
  for (Tensors element; iterator->next(element); element = Tensors()) {
    if (!all.empty()) {
      for (std::size_t i = 0; i < element.size(); ++i) {
        if (element[i].spec() == all[0][i].spec()) continue;
        throw invalid_argument(kSplitDataset, "elements of one shape are expected",
                               {{"element", all.size()}, {"received", element[i].spec()}, {"first", all[0][i].spec()}});
      }
    }
    all.push_back(std::move(element));
  }
  return all;
}

Tensor stacked(std::span<const Tensors> elements, std::size_t leaf) {
  const TensorSpec& spec = elements[0][leaf].spec();
  Shape shape{static_cast<std::int64_t>(elements.size())};
  for (const std::int64_t size : spec.shape) shape.push_back(size);
  if (spec.dtype == DType::String) {
    std::vector<std::string> strings;
    for (const Tensors& element : elements) {
      const std::vector<std::string> some = element[leaf].to_strings();
      strings.insert(strings.end(), some.begin(), some.end());
    }
    return Tensor::of_strings(std::move(strings), shape);
  }
  Tensor rows = Tensor::empty(spec.dtype, shape, cpu());
  const std::size_t bytes = elements[0][leaf].bytes();
  auto* to = static_cast<char*>(rows.raw());
  for (const Tensors& element : elements) {
    if (bytes > 0) std::memcpy(to, element[leaf].raw(), bytes);
    to += bytes;
  }
  return rows;
}

Dataset dataset_of_side(std::span<const Tensors> elements, const ElementSpec& spec) {
  Tensors columns;
  for (std::size_t leaf = 0; leaf < elements[0].size(); ++leaf) columns.push_back(stacked(elements, leaf));
  return datasets::from_tensor_slices(spec.with_leaves(columns));
}

}  // namespace

std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset, SplitSize left_size, SplitSize right_size,
                                          SplitDatasetOptions options) {
  if (!is_given(left_size) && !is_given(right_size)) {
    throw invalid_argument(kSplitDataset, "At least one of the `left_size` or `right_size` must be specified",
                           {{"left_size", "none"}, {"right_size", "none"}});
  }
  if (dataset.cardinality() == kInfiniteCardinality) {
    throw invalid_argument(kSplitDataset, "a dataset that ends is expected", {{"cardinality", "infinite"}},
                           "Take a number of its elements before.");
  }
  const bool batched = dataset.kind() == "batch";
  const Dataset single = batched ? dataset.unbatch() : dataset;
  std::vector<Tensors> all = elements_in_memory(single);
  if (options.shuffle) {
    const auto seed = options.seed ? *options.seed : static_cast<std::int64_t>(next_op_seed() % (kDrawnUpTo + 1));
    PythonRandom(seed).shuffle(std::span<Tensors>(all));
  }
  const auto [first, last] = sizes_of_split(left_size, right_size, static_cast<std::int64_t>(all.size()));
  const std::span<const Tensors> elements(all);
  Dataset left = dataset_of_side(elements.first(static_cast<std::size_t>(first)), single.element_spec());
  Dataset right = dataset_of_side(elements.last(static_cast<std::size_t>(last)), single.element_spec());
  if (!batched) return {left, right};
  const auto size = dataset.attributes().get<std::int64_t>("batch_size");
  return {left.batch(size), right.batch(size)};
}

std::pair<Dataset, Dataset> split_dataset(const Element& tensors, SplitSize left_size, SplitSize right_size,
                                          SplitDatasetOptions options) {
  return split_dataset(datasets::from_tensor_slices(tensors), left_size, right_size, options);
}

}  // namespace cohort::utils
