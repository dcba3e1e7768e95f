#include "cohort/datasets/sources/range.h"

#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

struct Progression {
  std::int64_t start, step, count;
};

class RangeElements : public IndexedElements {
 public:
  explicit RangeElements(Progression progression) : all_(progression) {}

  std::uint64_t count() const override { return static_cast<std::uint64_t>(all_.count); }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    element.resize(1);
    element[0].renew(DType::Int64, {}, cpu());
    *static_cast<std::int64_t*>(element[0].raw()) = number_at(place);
  }
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves, const Specs&) const override {
    auto* rows = reinterpret_cast<std::int64_t*>(leaves[0].first);
    for (const ElementPlace& place : places) *rows++ = number_at(place);
  }

 private:
  std::int64_t number_at(ElementPlace place) const {
    return all_.start + static_cast<std::int64_t>(place.position) * all_.step;
  }

  Progression all_;
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
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<RangeElements>(all_); }

 private:
  Progression all_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};

std::shared_ptr<const DatasetStage> make_range(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs("datasets.range", inputs);
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
