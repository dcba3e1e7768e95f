#include "cohort/datasets/transforms/ignore_errors.h"

#include <atomic>
#include <new>

#include "cohort/core/log.h"
#include "cohort/data/broken_source.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

class IgnoreErrorsIterator : public TransformIterator {
 public:
  IgnoreErrorsIterator(std::unique_ptr<DatasetIterator> input, bool log_warning)
      : TransformIterator(std::move(input)), log_warning_(log_warning) {}

  bool next(Tensors& element) override {
    for (;;) {
      try {
        return input_->next(element);
      } catch (const BrokenSource&) {
        throw;
      } catch (const std::bad_alloc&) {
        throw;  // not the element's fault
      } catch (const std::exception& error) {
        ++ignored_;
        if (log_warning_) log::warn(std::string("An element is left out: ") + error.what());
      }
    }
  }
  std::optional<ElementKey> key() const override { return input_->key(); }
  void rewind() override { input_->rewind(); }
  void save_to(StateWriter& state) const override {
    state.stage('X');
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('X');
    input_->restore_from(state);
  }
  std::uint64_t ignored() const { return ignored_; }

 private:
  bool log_warning_;
  std::atomic<std::uint64_t> ignored_{0};
};

class IgnoreErrorsStage : public TransformStage {
 public:
  IgnoreErrorsStage(const std::vector<Dataset>& inputs, bool log_warning)
      : TransformStage("Dataset.ignore_errors", inputs), log_warning_(log_warning) {}

  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    return available == kInfiniteCardinality || available == 0 ? available : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<IgnoreErrorsIterator>(input().make_iterator(), log_warning_);
  }

 private:
  bool log_warning_;
};

COHORT_DATASET("ignore_errors", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<IgnoreErrorsStage>(inputs, attributes.get<bool>("log_warning", false));
});

}  // namespace

DatasetTransform ignore_errors(IgnoreErrorsOptions options) {
  return make_transform("ignore_errors", {{"log_warning", options.log_warning}});
}

std::uint64_t ignored_errors(const DatasetIterator& iterator) {
  const auto* ignoring = dynamic_cast<const IgnoreErrorsIterator*>(&iterator.unmeasured());
  if (!ignoring) {
    throw invalid_argument("datasets.ignored_errors",
                           "an iterator of a dataset that ends with ignore_errors is expected");
  }
  return ignoring->ignored();
}

}  // namespace cohort::datasets
