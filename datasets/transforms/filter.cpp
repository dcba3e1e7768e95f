#include "cohort/datasets/transforms/filter.h"

#include "cohort/datasets/transforms/traced_function.h"

namespace cohort::datasets {
namespace {

constexpr const char* kFilter = "Dataset.filter";

class FilterIterator : public PredicateIterator {
 public:
  using PredicateIterator::PredicateIterator;

  bool next(Tensors& element) override {
    Tested tested = Tested::Fails;
    while (tested == Tested::Fails) tested = pull(element);
    return tested == Tested::Holds;
  }
  void save_to(StateWriter& state) const override {
    state.stage('f');
    PredicateIterator::save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('f');
    PredicateIterator::restore_from(state);
  }
};

class FilterStage : public PredicateStage {
 public:
  using PredicateStage::PredicateStage;

  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<FilterIterator>(input().make_iterator(), predicate());
  }
};

COHORT_DATASET("filter", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<FilterStage>(kFilter, inputs, attributes);
});

}  // namespace

DatasetTransform filter(ElementFunction f) { return make_traced_transform(kFilter, "filter", std::move(f)); }

}  // namespace cohort::datasets
