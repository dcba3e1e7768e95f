#include "cohort/datasets/transforms/window.h"

#include "cohort/datasets/transforms/grouping.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWindow = "Dataset.window";
constexpr std::int64_t kMostSpanned = std::int64_t{1} << 61;

std::shared_ptr<const DatasetStage> make_window(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  if (inputs.size() != 1) throw invalid_argument(kWindow, "one input dataset is expected", {{"inputs", inputs.size()}});
  const auto size = attributes.get<std::int64_t>("size"), stride = attributes.get<std::int64_t>("stride", 1);
  const auto shift = attributes.get<std::int64_t>("shift", size);
  if (size < 1 || stride < 1 || shift < 1 || size > kMostSpanned / stride || shift > kMostSpanned) {
    throw invalid_argument(kWindow, "a size, a shift and a stride of at least one element are expected",
                           {{"size", size}, {"shift", shift}, {"stride", stride}});
  }
  const Grouping windows{static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(shift),
                         static_cast<std::uint64_t>(stride), attributes.get<bool>("drop_remainder", false)};
  return std::make_shared<GroupStage>(inputs[0], windows, Stacking::of_equal_shapes(kWindow, inputs[0].element_spec()));
}

COHORT_DATASET("window", make_window);

}  // namespace

DatasetTransform window(std::int64_t size, WindowOptions options) {
  return make_transform("window", {{"size", size},
                                   {"shift", options.shift == 0 ? size : options.shift},
                                   {"stride", options.stride},
                                   {"drop_remainder", options.drop_remainder}});
}

}  // namespace cohort::datasets
