#include "cohort/datasets/transforms/with_options.h"

#include "cohort/core/error.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWithOptions = "Dataset.with_options";
constexpr const char* kPolicyAttribute = "auto_shard_policy";

class OptionsStage : public TransformStage {
 public:
  OptionsStage(const std::vector<Dataset>& inputs, const Attributes& attributes)
      : TransformStage(kWithOptions, inputs) {
    if (!attributes.has(kPolicyAttribute)) return;
    const auto policy = attributes.get<std::int64_t>(kPolicyAttribute);
    if (policy < static_cast<std::int64_t>(AutoShardPolicy::Off) ||
        policy > static_cast<std::int64_t>(AutoShardPolicy::Data)) {
      throw invalid_argument(kWithOptions, "a policy of AutoShardPolicy is expected", {{"auto_shard_policy", policy}});
    }
  }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override { return input().make_iterator(); }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override { return input().stage().indexed(); }
};

COHORT_DATASET("options", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<OptionsStage>(inputs, attributes);
});

}  // namespace

DatasetTransform with_options(DatasetOptions options) {
  Attributes attributes;
  if (options.auto_shard_policy) {
    attributes.set(kPolicyAttribute, AttributeValue(static_cast<std::int64_t>(*options.auto_shard_policy)));
  }
  return make_transform("options", std::move(attributes));
}

}  // namespace cohort::datasets
