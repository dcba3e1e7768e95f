#include "tests/datasets/ragged_source.h"

#include <atomic>

#include "cohort/data/indexed_iterator.h"

namespace cohort::datasets::test {
namespace {

std::atomic<std::int64_t> ragged_read{0};

class RaggedElements : public IndexedElements {
 public:
  explicit RaggedElements(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {}
  std::uint64_t count() const override { return lengths_.size(); }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    ++ragged_read;
    const std::int64_t length = lengths_[static_cast<std::size_t>(place.position)];
    if (length < 0) throw Error(ErrorCode::DataLoss, "element " + std::to_string(place.position) + " is damaged");
    element.resize(1);
    element[0].renew(DType::Int64, {length}, cpu());
    auto* values = static_cast<std::int64_t*>(element[0].raw());
    std::fill(values, values + length, static_cast<std::int64_t>(place.position));
  }

 private:
  std::vector<std::int64_t> lengths_;
};

// The same without saying that any can be reached by number.
class RaggedIterator : public IndexedIterator {
 public:
  using IndexedIterator::IndexedIterator;
  const IndexedElements* indexed() const override { return nullptr; }
};

class RaggedStage : public DatasetStage {
 public:
  RaggedStage(std::vector<std::int64_t> lengths, bool by_number)
      : lengths_(std::move(lengths)), by_number_(by_number) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(lengths_.size()); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (by_number_) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<RaggedIterator>(indexed());
  }
  bool is_indexed() const override { return by_number_; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<RaggedElements>(lengths_); }

 private:
  std::vector<std::int64_t> lengths_;
  bool by_number_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {kUnknown}};
};

constexpr const char* kRagged = "test>ragged_source";

COHORT_DATASET(kRagged, [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<RaggedStage>(attributes.get<std::vector<std::int64_t>>("lengths"),
                                       attributes.get<bool>("by_number"));
});

}  // namespace

Dataset ragged_source(const std::vector<std::int64_t>& lengths) {
  return Dataset::make(kRagged, {}, {{"lengths", lengths}, {"by_number", false}});
}
Dataset ragged_indexed_source(const std::vector<std::int64_t>& lengths) {
  return Dataset::make(kRagged, {}, {{"lengths", lengths}, {"by_number", true}});
}
std::int64_t ragged_elements_read() { return ragged_read; }

}  // namespace cohort::datasets::test
