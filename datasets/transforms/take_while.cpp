#include "cohort/datasets/transforms/take_while.h"

#include "cohort/datasets/transforms/traced_function.h"

namespace cohort::datasets {
namespace {

constexpr const char* kTakeWhile = "Dataset.take_while";

class TakeWhileIterator : public PredicateIterator {
 public:
  using PredicateIterator::PredicateIterator;

  bool next(Tensors& element) override {
    ended_ = ended_ || pull(element) != Tested::Holds;
    return !ended_;
  }
  void rewind() override {
    ended_ = false;
    PredicateIterator::rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('w');
    state.number(ended_);
    PredicateIterator::save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('w');
    ended_ = state.number() != 0;
    PredicateIterator::restore_from(state);
  }

 private:
  bool ended_ = false;
};

class TakeWhileStage : public PredicateStage {
 public:
  using PredicateStage::PredicateStage;

  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<TakeWhileIterator>(input().make_iterator(), predicate());
  }
};

COHORT_DATASET("take_while", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<TakeWhileStage>(kTakeWhile, inputs, attributes);
});

}  // namespace

DatasetTransform take_while(ElementFunction f) { return make_traced_transform(kTakeWhile, "take_while", std::move(f)); }

}  // namespace cohort::datasets
