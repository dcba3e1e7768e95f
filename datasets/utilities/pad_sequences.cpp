#include "cohort/datasets/utilities/pad_sequences.h"

#include <algorithm>
#include <span>

#include "cohort/core/error.h"

namespace cohort::utils {
namespace {

constexpr const char* kPadSequences = "utils.pad_sequences";

// Of one sequence: its steps, of `width` values each.
template <class T>
struct Steps {
  std::span<const T> values;
  std::int64_t length;
};

struct PaddedPlaces {
  bool pad_before, cut_before;
};

bool is_pre(const std::string& name, const char* what) {
  if (name == "pre") return true;
  if (name == "post") return false;
  throw invalid_argument(kPadSequences, std::string(what) + " type \"pre\" or \"post\" is expected", {{what, name}});
}

template <class To, class From>
Tensor padded(const std::vector<Steps<From>>& sequences, const Shape& step, const PadSequencesOptions& options) {
  const PaddedPlaces places{is_pre(options.padding, "padding"), is_pre(options.truncating, "truncating")};
  std::int64_t longest = 0;
  for (const Steps<From>& sequence : sequences) longest = std::max(longest, sequence.length);
  const std::int64_t length = options.maxlen.value_or(longest);
  if (length < 0) throw invalid_argument(kPadSequences, "a length of at least 0 is expected", {{"maxlen", length}});
  Shape shape{static_cast<std::int64_t>(sequences.size()), length};
  for (const std::int64_t size : step) shape.push_back(size);
  Tensor result = Tensor::empty(options.dtype, shape, cpu());
  auto* values = static_cast<To*>(result.raw());
  std::fill_n(values, shape.num_elements(), static_cast<To>(options.value));
  const std::int64_t width = step.num_elements();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::int64_t kept = std::min(sequences[i].length, length);
    const std::int64_t from = places.cut_before ? sequences[i].length - kept : 0;
    const std::int64_t to = static_cast<std::int64_t>(i) * length + (places.pad_before ? length - kept : 0);
    std::transform(sequences[i].values.begin() + from * width, sequences[i].values.begin() + (from + kept) * width,
                   values + to * width, [](From value) { return static_cast<To>(value); });
  }
  return result;
}

template <class From>
Tensor padded_as(const std::vector<Steps<From>>& sequences, const Shape& step, const PadSequencesOptions& options) {
  switch (options.dtype) {
    case DType::Int32:
      return padded<std::int32_t>(sequences, step, options);
    case DType::Int64:
      return padded<std::int64_t>(sequences, step, options);
    case DType::UInt8:
      return padded<std::uint8_t>(sequences, step, options);
    case DType::Int8:
      return padded<std::int8_t>(sequences, step, options);
    case DType::Float32:
      return padded<float>(sequences, step, options);
    case DType::Float64:
      return padded<double>(sequences, step, options);
    default:
      throw invalid_argument(kPadSequences, "an integer type, float32 or float64 is expected",
                             {{"dtype", options.dtype}});
  }
}

template <class T>
Tensor padded_vectors(const std::vector<std::vector<T>>& sequences, const PadSequencesOptions& options) {
  std::vector<Steps<T>> steps;
  for (const auto& each : sequences) steps.push_back({each, static_cast<std::int64_t>(each.size())});
  return padded_as(steps, {}, options);
}

// The shape of a step: that of the first sequence which has one.
Shape step_shape(const Tensors& sequences) {
  Shape step;
  bool known = false;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (!sequences[i].defined() || sequences[i].rank() == 0) {
      throw invalid_argument(kPadSequences, "`sequences` must be a list of tensors of at least one axis",
                             {{"sequence", i}});
    }
    if (sequences[i].num_elements() == 0) continue;
    if (!known) step = sequences[i].shape().slice(1);
    known = true;
    if (sequences[i].shape().slice(1) != step) {
      throw invalid_argument(kPadSequences, "Steps of one shape are expected in all sequences",
                             {{"sequence", i}, {"shape", sequences[i].shape().slice(1)}, {"expected", step}});
    }
  }
  return step;
}

template <class T>
Tensor padded_tensors(const Tensors& sequences, const PadSequencesOptions& options) {
  std::vector<std::vector<T>> values;
  std::vector<Steps<T>> steps;
  for (const Tensor& each : sequences) values.push_back(each.to_vector<T>());
  for (std::size_t i = 0; i < values.size(); ++i)
    steps.push_back({values[i], values[i].empty() ? 0 : sequences[i].shape()[0]});
  return padded_as(steps, step_shape(sequences), options);
}

}  // namespace

Tensor pad_sequences(const std::vector<std::vector<std::int64_t>>& sequences, const PadSequencesOptions& options) {
  return padded_vectors(sequences, options);
}

Tensor pad_sequences(const std::vector<std::vector<double>>& sequences, const PadSequencesOptions& options) {
  return padded_vectors(sequences, options);
}

Tensor pad_sequences(const Tensors& sequences, const PadSequencesOptions& options) {
  step_shape(sequences);
  const bool integers = std::all_of(sequences.begin(), sequences.end(), [](const Tensor& each) {
    return is_integer(each.dtype()) || each.dtype() == DType::Bool;
  });
  return integers ? padded_tensors<std::int64_t>(sequences, options) : padded_tensors<double>(sequences, options);
}

}  // namespace cohort::utils
