#include "cohort/model/fit/data_adapter.h"

#include <cmath>

#include "cohort/data/unpack_data.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort {
namespace {

std::int64_t samples_of(const DataArgument& data, const char* who) {
  const Tensor first = data.x().flatten().at(0);
  const auto check = [&](const Element& element, const char* name) {
    const Tensors leaves = element.flatten();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const std::string label = leaves.size() == 1 ? name : std::string(name) + "[" + std::to_string(i) + "]";
      if (!leaves[i].defined() || leaves[i].rank() == 0) {
        throw invalid_argument(who, "tensors must have the samples as axis 0", {{label, "a scalar"}});
      }
      if (leaves[i].shape()[0] != first.shape()[0]) {
        throw invalid_argument(who, "x, y and sample_weight must have the same number of samples",
                               {{"x.shape", first.shape()}, {label + ".shape", leaves[i].shape()}});
      }
    }
  };
  check(data.x(), "x");
  check(data.y(), "y");
  check(data.sample_weight(), "sample_weight");
  return first.shape()[0];
}

// (x), (x, y) or (x, y, sample_weight)
Element pack(const Element& x, const Element& y, const Element& sample_weight) {
  if (!sample_weight.empty()) return Element::tuple({x, y, sample_weight});
  if (!y.empty()) return Element::tuple({x, y});
  return Element::tuple({x});
}

Dataset slices(const Element& tensors) {
  Attributes attributes{{"structure", structure_of(tensors)}};
  const Tensors leaves = tensors.flatten();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    attributes.set("tensor_" + std::to_string(i), leaves[i].to_host());
  }
  return Dataset::make("tensor_slices", {}, std::move(attributes));
}

Element weighted_by_class(const Element& data, const std::map<std::int64_t, double>& weights, const char* who) {
  const UnpackedData parts = unpack_x_y_sample_weight(data);
  if (!parts.sample_weight.empty()) {
    throw invalid_argument(who, "class_weight and sample_weight cannot both be given");
  }
  if (!parts.y.is_leaf()) {
    throw invalid_argument(who, "class_weight needs a model of one output", {{"targets", parts.y.flatten().size()}});
  }
  return pack(parts.x, parts.y, class_weights(parts.y.leaf(), weights));
}

Element rows_of(const Element& element, std::int64_t first, std::int64_t count) {
  return element.map([&](const Tensor& leaf) { return leaf.rows(first, count); });
}

}  // namespace

Tensor class_weights(const Tensor& y, const std::map<std::int64_t, double>& weights) {
  Tensor classes = y;
  if (y.rank() > 1) classes = y.shape().back() == 1 ? ops::squeeze(y, {-1}) : ops::argmax(y, -1);
  classes = ops::cast(is_floating(classes.dtype()) ? ops::round(classes) : classes, DType::Int32);
  Tensor result = ops::cast(classes, DType::Float32) * 0.0 + 1.0;
  for (const auto& [label, weight] : weights) {
    result = ops::where(ops::equal(classes, static_cast<double>(label)), weight, result);
  }
  return result;
}

Element pack_batch(const char* who, const TensorArgument& x, const TensorArgument& y,
                   const TensorArgument& sample_weight, const std::map<std::int64_t, double>& class_weight) {
  if (x.empty()) throw invalid_argument(who, "x must be given");
  samples_of(DataArgument(x, y, sample_weight), who);
  const Element packed = pack(x.element(), y.element(), sample_weight.element());
  return class_weight.empty() ? packed : weighted_by_class(packed, class_weight, who);
}

RunnerData adapt_data(const DataArgument& data, const AdapterOptions& options) {
  RunnerData result;
  if (data.is_creator()) {
    result.creator = data.creator();
  } else if (data.is_dataset()) {
    result.dataset = data.dataset();
  } else if (!data.is_tensors()) {
    throw invalid_argument(options.who, "data must be given: tensors, a Dataset or a DatasetCreator");
  }
  if (!data.is_tensors()) {
    if (options.batch_size) {
      throw invalid_argument(options.who, "batch_size is for tensors: a dataset brings its own batches",
                             {{"batch_size", *options.batch_size}}, "Call batch() on the dataset.");
    }
    if (options.class_weight.empty()) return result;
    const auto weighted = [weights = options.class_weight, who = options.who](const Dataset& dataset) {
      return dataset.map([weights, who](const Element& element) { return weighted_by_class(element, weights, who); });
    };
    if (result.creator) {
      result.creator = DatasetCreator(
          [weighted, creator = *result.creator](const InputContext& context) { return weighted(creator(context)); });
    } else {
      result.dataset = weighted(result.dataset);
    }
    return result;
  }

  const std::int64_t samples = samples_of(data, options.who);
  const std::int64_t batch_size = options.batch_size.value_or(32);
  if (batch_size <= 0) {
    throw invalid_argument(options.who, "batch_size must be positive", {{"batch_size", batch_size}});
  }
  Element packed = pack(data.x(), data.y(), data.sample_weight());
  if (!options.class_weight.empty()) packed = weighted_by_class(packed, options.class_weight, options.who);
  result.dataset = slices(packed);
  if (options.shuffle && samples > 0) result.dataset = result.dataset.shuffle(samples);
  result.dataset = result.dataset.batch(batch_size);
  return result;
}

std::pair<DataArgument, DataArgument> split_for_validation(const DataArgument& data, double fraction) {
  constexpr const char* kWho = "Model.fit";
  if (!data.is_tensors()) {
    throw invalid_argument(kWho, "validation_split is for tensors", {{"validation_split", fraction}},
                           "Give validation_data beside a dataset.");
  }
  if (!(fraction > 0.0 && fraction < 1.0)) {
    throw invalid_argument(kWho, "validation_split must lie between 0 and 1", {{"validation_split", fraction}});
  }
  const std::int64_t samples = samples_of(data, kWho);
  const auto first = static_cast<std::int64_t>(std::floor(static_cast<double>(samples) * (1.0 - fraction)));
  if (first == 0 || first == samples) {
    throw invalid_argument(kWho, "both parts of a split must hold a sample",
                           {{"samples", samples}, {"validation_split", fraction}});
  }
  return {
      DataArgument(rows_of(data.x(), 0, first), rows_of(data.y(), 0, first), rows_of(data.sample_weight(), 0, first)),
      DataArgument(rows_of(data.x(), first, samples - first), rows_of(data.y(), first, samples - first),
                   rows_of(data.sample_weight(), first, samples - first))};
}

}  // namespace cohort
