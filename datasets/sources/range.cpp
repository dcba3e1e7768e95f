#include "cohort/datasets/sources/range.h"

namespace cohort::datasets {
namespace {

struct Progression {
  std::int64_t start, step, count;
};

class RangeIterator : public DatasetIterator {
 public:
  explicit RangeIterator(Progression progression) : all_(progression) {}

  bool next(Tensors& element) override {
    if (done_ == all_.count) return false;
    element.resize(1);
    element[0].renew(DType::Int64, {}, cpu());
    *static_cast<std::int64_t*>(element[0].raw()) = all_.start + done_ * all_.step;
    ++done_;
    return true;
  }
  void rewind() override { done_ = 0; }
  void save_to(StateWriter& state) const override {
    state.stage('N');
    state.number(static_cast<std::uint64_t>(done_));
  }
  void restore_from(StateReader& state) override {
    state.stage('N');
    const std::uint64_t done = state.number();
    if (done > static_cast<std::uint64_t>(all_.count)) {
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected",
                             {{"position", done}, {"numbers", all_.count}});
    }
    done_ = static_cast<std::int64_t>(done);
  }

 private:
  Progression all_;
  std::int64_t done_ = 0;
};

class RangeStage : public DatasetStage {
 public:
  RangeStage(std::int64_t start, std::int64_t stop, std::int64_t step) : all_{start, step, 0} {
    if (step == 0) throw invalid_argument("datasets.range", "the step must not be 0", {{"step", step}});
    if (step > 0 ? start < stop : start > stop) {
      // Unsigned, because the distance between two numbers may not fit a signed one.
      const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(stop);
      const std::uint64_t distance = step > 0 ? to - from : from - to;
      const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
      const std::uint64_t count = (distance - 1) / stride + 1;
      if (count > static_cast<std::uint64_t>(INT64_MAX)) {
        throw invalid_argument("datasets.range", "fewer than 2^63 numbers are expected",
                               {{"start", start}, {"stop", stop}});
      }
      all_.count = static_cast<std::int64_t>(count);
    }
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return all_.count; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<RangeIterator>(all_); }

 private:
  Progression all_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};

std::shared_ptr<const DatasetStage> make_range(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  if (!inputs.empty()) throw invalid_argument("datasets.range", "a source has no inputs", {{"inputs", inputs.size()}});
  return std::make_shared<RangeStage>(attributes.get<std::int64_t>("start"), attributes.get<std::int64_t>("stop"),
                                      attributes.get<std::int64_t>("step"));
}

COHORT_DATASET("range", make_range);

}  // namespace

Dataset range(std::int64_t stop) { return range(0, stop); }

Dataset range(std::int64_t start, std::int64_t stop, std::int64_t step) {
  return Dataset::make("range", {}, {{"start", start}, {"stop", stop}, {"step", step}});
}

}  // namespace cohort::datasets
