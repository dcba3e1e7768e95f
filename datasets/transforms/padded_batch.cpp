#include "cohort/datasets/transforms/padded_batch.h"

#include "cohort/datasets/transforms/grouping.h"

namespace cohort::datasets {
namespace {

constexpr const char* kPaddedBatch = "Dataset.padded_batch";
constexpr std::int64_t kMostRows = std::int64_t{1} << 61;

std::shared_ptr<const DatasetStage> make_padded_batch(const std::vector<Dataset>& inputs,
                                                      const Attributes& attributes) {
  if (inputs.size() != 1) {
    throw invalid_argument(kPaddedBatch, "one input dataset is expected", {{"inputs", inputs.size()}});
  }
  const auto size = attributes.get<std::int64_t>("batch_size");
  if (size < 1 || size > kMostRows) {
    throw invalid_argument(kPaddedBatch, "a batch of at least one element is expected", {{"batch_size", size}});
  }
  const Grouping batches{.size = static_cast<std::uint64_t>(size),
                         .shift = static_cast<std::uint64_t>(size),
                         .drop_remainder = attributes.get<bool>("drop_remainder", false)};
  return std::make_shared<GroupStage>(inputs[0], batches,
                                      Stacking::padded(kPaddedBatch, inputs[0].element_spec(), attributes));
}

COHORT_DATASET("padded_batch", make_padded_batch);

}  // namespace

DatasetTransform padded_batch(std::int64_t batch_size, PaddedBatchOptions options) {
  return [batch_size, options = std::move(options)](const Dataset& input) {
    Attributes attributes{{"batch_size", batch_size}, {"drop_remainder", options.drop_remainder}};
    add_padding(kPaddedBatch, input.element_spec(), {options.padded_shapes, options.padding_values}, attributes);
    return Dataset::make("padded_batch", {input}, std::move(attributes));
  };
}

}  // namespace cohort::datasets
