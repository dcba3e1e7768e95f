#include "cohort/datasets/sources/tensor_slices.h"

#include "cohort/datasets/sources/every_nth_slice.h"
#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

constexpr const char* kFromTensorSlices = "datasets.from_tensor_slices";

std::string tensor_name(std::size_t i) { return "tensor_" + std::to_string(i); }

std::shared_ptr<const DatasetStage> make_tensor_slices(const std::vector<Dataset>& inputs,
                                                       const Attributes& attributes) {
  check_no_inputs(kFromTensorSlices, inputs);
  Tensors tensors;
  Specs specs;
  while (attributes.has(tensor_name(tensors.size()))) {
    tensors.push_back(attributes.get<Tensor>(tensor_name(tensors.size())));
    specs.push_back(tensors.back().spec());
  }
  const RowNumbers numbers{static_cast<std::uint64_t>(attributes.get<std::int64_t>(kFirstNumber, 0)),
                           static_cast<std::uint64_t>(attributes.get<std::int64_t>(kNumberStep, 1))};
  return rows_of(kFromTensorSlices,
                 parse_structure(attributes.get<std::string>("structure"), specs).with_leaves(tensors), numbers);
}

COHORT_DATASET("tensor_slices", make_tensor_slices);

}  // namespace

Dataset from_tensor_slices(const Element& tensors) {
  Attributes attributes{{"structure", structure_of(tensors)}};
  const Tensors leaves = tensors.flatten();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].defined())
      throw invalid_argument(kFromTensorSlices, "tensors with values are expected", {{"tensor", i}});
    attributes.set(tensor_name(i), leaves[i].to_host());
  }
  return Dataset::make("tensor_slices", {}, std::move(attributes));
}

Dataset from_tensor_slices(const Element& x, const Element& y) { return from_tensor_slices(Element::tuple({x, y})); }

Dataset from_tensor_slices(const Element& x, const Element& y, const Element& sample_weight) {
  return from_tensor_slices(Element::tuple({x, y, sample_weight}));
}

}  // namespace cohort::datasets
