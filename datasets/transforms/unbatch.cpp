#include "cohort/datasets/transforms/unbatch.h"

#include <cstring>

#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/transforms/rows_of_batches.h"

namespace cohort::datasets {
namespace {

constexpr const char* kUnbatch = "Dataset.unbatch";

void copy_row(const Tensors& batch, std::uint64_t row, Tensors& element) {
  element.resize(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    element[i].renew(batch[i].dtype(), batch[i].shape().slice(1), cpu());
    const std::size_t bytes = element[i].bytes();
    if (bytes == 0) continue;
    std::memcpy(element[i].raw(), static_cast<const char*>(batch[i].raw()) + static_cast<std::size_t>(row) * bytes,
                bytes);
  }
}

class UnbatchIterator : public RowsOfBatches {
 public:
  UnbatchIterator(std::unique_ptr<DatasetIterator> input, std::int64_t rows_of_each)
      : RowsOfBatches(kUnbatch, std::move(input), rows_of_each) {}

  bool next(Tensors& element) override {
    if (!load(element)) return false;
    key_ = row_key();
    const std::uint64_t row = this->row();
    advance(1);
    if (error()) std::rethrow_exception(error());
    // Memory that is used again for the next batch is not given away; that of others is shared.
    if (is_owned()) {
      copy_row(batch(), row, element);
    } else {
      row_of(batch(), static_cast<std::int64_t>(row), element);
    }
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override { return pass_rows(count); }
  std::optional<ElementKey> key() const override { return key_; }
  void save_to(StateWriter& state) const override {
    state.stage('u');
    RowsOfBatches::save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('u');
    RowsOfBatches::restore_from(state);
  }

 private:
  std::optional<ElementKey> key_;
};

class UnbatchStage : public TransformStage {
 public:
  explicit UnbatchStage(const std::vector<Dataset>& inputs)
      : TransformStage(kUnbatch, inputs), rows_of_each_(rows_of_each_batch(kUnbatch, input().element_spec())) {
    spec_ = input().element_spec().map([](const TensorSpec& leaf) {
      return TensorSpec{leaf.dtype, leaf.shape.slice(1)};
    });
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return rows_of_all_batches(input(), rows_of_each_); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<UnbatchIterator>(input().make_iterator(), rows_of_each_);
  }

 private:
  std::int64_t rows_of_each_;
  ElementSpec spec_;
};

COHORT_DATASET("unbatch", [](const std::vector<Dataset>& inputs, const Attributes&) {
  return std::make_shared<UnbatchStage>(inputs);
});

}  // namespace

DatasetTransform unbatch() { return make_transform("unbatch"); }

}  // namespace cohort::datasets
