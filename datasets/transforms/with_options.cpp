#include "cohort/datasets/transforms/with_options.h"

#include "cohort/core/error.h"
#include "cohort/datasets/transforms/ram_budget.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWithOptions = "Dataset.with_options";
constexpr const char* kPolicyAttribute = "auto_shard_policy";
constexpr const char* kBudgetAttribute = "ram_budget";

class OptionsStage : public TransformStage {
 public:
  OptionsStage(const std::vector<Dataset>& inputs, const Attributes& attributes)
      : TransformStage(kWithOptions, inputs) {
    if (attributes.has(kBudgetAttribute)) {
      ram_budget_ = attributes.get<std::int64_t>(kBudgetAttribute);
      if (ram_budget_ <= 0) {
        throw invalid_argument(kWithOptions, "a number of bytes is expected", {{"ram_budget", ram_budget_}});
      }
    }
    if (!attributes.has(kPolicyAttribute)) return;
    const auto policy = attributes.get<std::int64_t>(kPolicyAttribute);
    if (policy < static_cast<std::int64_t>(AutoShardPolicy::Off) ||
        policy > static_cast<std::int64_t>(AutoShardPolicy::Data)) {
      throw invalid_argument(kWithOptions, "a policy of AutoShardPolicy is expected", {{"auto_shard_policy", policy}});
    }
  }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (ram_budget_ == 0) return input().make_iterator();
    const RamBudgetScope scope(std::make_shared<RamBudget>(static_cast<std::uint64_t>(ram_budget_)));
    return input().make_iterator();
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override { return input().stage().indexed(); }

 private:
  std::int64_t ram_budget_ = 0;  // 0: the process's
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
  if (options.ram_budget) attributes.set(kBudgetAttribute, AttributeValue(*options.ram_budget));
  return make_transform("options", std::move(attributes));
}

}  // namespace cohort::datasets
