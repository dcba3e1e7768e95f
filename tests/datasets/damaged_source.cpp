#include "tests/datasets/damaged_source.h"

#include "cohort/data/indexed_iterator.h"

namespace cohort::datasets::test {
namespace {

std::atomic<std::int64_t> read_by_all{0};

struct Damage {
  std::int64_t count, period;

  void read(std::int64_t number, Tensors& element) const {
    ++read_by_all;
    if (period > 0 && number % period == 0) {
      throw Error(ErrorCode::DataLoss, "element " + std::to_string(number) + " is damaged");
    }
    element.assign(1, Tensor::of<std::int64_t>({number}, {}, cpu()));
  }
};

class DamagedIterator : public DatasetIterator {
 public:
  explicit DamagedIterator(Damage damage) : damage_(damage) {}
  bool next(Tensors& element) override {
    if (next_ == damage_.count) return false;
    damage_.read(next_++, element);
    return true;
  }
  void rewind() override { next_ = 0; }
  void save_to(StateWriter& state) const override { state.number(static_cast<std::uint64_t>(next_)); }
  void restore_from(StateReader& state) override { next_ = static_cast<std::int64_t>(state.number()); }

 private:
  Damage damage_;
  std::int64_t next_ = 0;
};

class DamagedElements : public IndexedElements {
 public:
  explicit DamagedElements(Damage damage) : damage_(damage) {}
  std::uint64_t count() const override { return static_cast<std::uint64_t>(damage_.count); }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    damage_.read(static_cast<std::int64_t>(place.position), element);
  }

 private:
  Damage damage_;
};

class DamagedStage : public DatasetStage {
 public:
  DamagedStage(Damage damage, bool indexed) : damage_(damage), indexed_(indexed) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return damage_.count; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (indexed_) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<DamagedIterator>(damage_);
  }
  bool is_indexed() const override { return indexed_; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<DamagedElements>(damage_); }

 private:
  Damage damage_;
  bool indexed_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};

constexpr const char* kKind = "test>damaged_source";

COHORT_DATASET(kKind, [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<DamagedStage>(
      Damage{attributes.get<std::int64_t>("count"), attributes.get<std::int64_t>("period")},
      attributes.get<bool>("indexed"));
});

}  // namespace

Dataset damaged_source(std::int64_t count, std::int64_t period) {
  return Dataset::make(kKind, {}, {{"count", count}, {"period", period}, {"indexed", false}});
}
Dataset damaged_indexed_source(std::int64_t count, std::int64_t period) {
  return Dataset::make(kKind, {}, {{"count", count}, {"period", period}, {"indexed", true}});
}
std::int64_t elements_read() { return read_by_all; }

}  // namespace cohort::datasets::test
