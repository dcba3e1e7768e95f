#include "cohort/datasets/transforms/enumerate.h"

#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

void write_number(std::uint64_t number, Tensors& element) {
  element[0].renew(DType::Int64, {}, cpu());
  *static_cast<std::int64_t*>(element[0].raw()) = static_cast<std::int64_t>(number);
}

class EnumerateIterator : public TransformIterator {
 public:
  using TransformIterator::TransformIterator;

  bool next(Tensors& element) override {
    // The input writes over what the element holds.
    incoming_.resize(element.empty() ? 0 : element.size() - 1);
    swap_with(element);
    // One that throws has its number, too.
    const std::uint64_t number = count_++;
    const bool found = input_->next(incoming_);
    element.resize(incoming_.size() + 1);
    swap_with(element);
    if (found) {
      write_number(number, element);
    } else {
      --count_;
    }
    return found;
  }
  std::uint64_t skip(std::uint64_t count) override {
    const std::uint64_t passed = input_->skip(count);
    count_ += passed;
    return passed;
  }
  std::optional<ElementKey> key() const override { return input_->key(); }
  void rewind() override {
    count_ = 0;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('E');
    state.number(count_);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('E');
    count_ = state.number();
    input_->restore_from(state);
  }

 private:
  void swap_with(Tensors& element) {
    for (std::size_t i = 0; i < incoming_.size(); ++i) std::swap(element[i + 1], incoming_[i]);
  }

  std::uint64_t count_ = 0;
  Tensors incoming_;
};

class EnumerateStage : public TransformStage {
 public:
  explicit EnumerateStage(const std::vector<Dataset>& inputs)
      : TransformStage("Dataset.enumerate", inputs),
        spec_(ElementSpec::tuple({TensorSpec{DType::Int64, {}}, input().element_spec()})) {}

  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<EnumerateIterator>(input().make_iterator());
  }

 private:
  ElementSpec spec_;
};

COHORT_DATASET("enumerate", [](const std::vector<Dataset>& inputs, const Attributes&) {
  return std::make_shared<EnumerateStage>(inputs);
});

}  // namespace

DatasetTransform enumerate() { return make_transform("enumerate"); }

}  // namespace cohort::datasets
