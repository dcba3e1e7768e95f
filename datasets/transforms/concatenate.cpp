#include "cohort/datasets/transforms/concatenate.h"

#include <algorithm>

#include "cohort/core/random.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/transforms/joined_inputs.h"

namespace cohort::datasets {
namespace {

constexpr const char* kConcatenate = "Dataset.concatenate";
constexpr std::uint64_t kOfTheSecond = 0x7365636f6e64;

// Element 3 of the second dataset is another one than element 3 of the first.
ElementKey key_of_the_second(ElementKey key) { return {key.pass, hash_combine(key.number, kOfTheSecond)}; }

class ConcatenateIterator : public JoinedIterator {
 public:
  using JoinedIterator::JoinedIterator;

  bool next(Tensors& element) override {
    if (!in_second_ && inputs_[0]->next(element)) return true;
    in_second_ = true;
    return inputs_[1]->next(element);
  }
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = in_second_ ? 0 : inputs_[0]->skip(count);
    if (passed == count) return passed;
    in_second_ = true;
    return passed + inputs_[1]->skip(count - passed);
  }
  std::optional<ElementKey> key() const override {
    const std::optional<ElementKey> key = inputs_[in_second_ ? 1 : 0]->key();
    return key && in_second_ ? key_of_the_second(*key) : key;
  }
  void rewind() override {
    in_second_ = false;
    JoinedIterator::rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('c');
    state.number(in_second_);
    JoinedIterator::save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('c');
    in_second_ = state.number() != 0;
    JoinedIterator::restore_from(state);
  }

 private:
  bool in_second_ = false;
};

class ConcatenatedElements : public JoinedElements {
 public:
  explicit ConcatenatedElements(std::vector<std::unique_ptr<IndexedElements>> parts)
      : JoinedElements(std::move(parts)), first_(parts_[0]->count()) {}

  std::uint64_t count() const override {
    const std::uint64_t second = parts_[1]->count();
    return second > kEndless - first_ ? kEndless : first_ + second;
  }
  ElementKey key(ElementPlace place) const override {
    if (place.position < first_) return key_in(*parts_[0], place);
    place.position -= first_;
    return key_of_the_second(key_in(*parts_[1], place));
  }
  void read(ElementPlace place, Tensors& element) const override {
    if (place.position < first_) return read_from(*parts_[0], place, element);
    place.position -= first_;
    read_from(*parts_[1], place, element);
  }
  // Neighbours of one dataset are read together.
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves,
                 const Specs& specs) const override {
    for (std::size_t begin = 0, end; begin < places.size(); begin = end) {
      const bool second = places[begin].position >= first_;
      for (end = begin + 1; end < places.size() && (places[end].position >= first_) == second;) ++end;
      read_rows_from(*parts_[second ? 1 : 0], second ? first_ : 0, places.subspan(begin, end - begin), leaves, begin,
                     specs);
    }
  }

 private:
  std::uint64_t first_;
};

ElementSpec spec_of_both(const ElementSpec& first, const ElementSpec& second) {
  if (const std::optional<ElementSpec> spec = common_spec(first, second)) return *spec;
  throw invalid_argument(kConcatenate, "datasets of the same structure, types and numbers of axes are expected",
                         {{"first", to_string(first)}, {"second", to_string(second)}},
                         "Bring the elements of one to those of the other with a map.");
}

class ConcatenateStage : public DatasetStage {
 public:
  explicit ConcatenateStage(const std::vector<Dataset>& inputs) : inputs_(inputs) {
    if (inputs.size() != 2) {
      throw invalid_argument(kConcatenate, "two input datasets are expected", {{"inputs", inputs.size()}});
    }
    spec_ = spec_of_both(inputs[0].element_spec(), inputs[1].element_spec());
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    const std::int64_t first = inputs_[0].cardinality(), second = inputs_[1].cardinality();
    if (first == kInfiniteCardinality || second == kInfiniteCardinality) return kInfiniteCardinality;
    if (first == kUnknownCardinality || second == kUnknownCardinality) return kUnknownCardinality;
    return second > INT64_MAX - first ? kInfiniteCardinality : first + second;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<ConcatenateIterator>(iterators_of(inputs_));
  }
  bool is_indexed() const override { return all_indexed(inputs_); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<ConcatenatedElements>(indexed_parts(inputs_));
  }

 private:
  std::vector<Dataset> inputs_;
  ElementSpec spec_;
};

COHORT_DATASET("concatenate", [](const std::vector<Dataset>& inputs, const Attributes&) {
  return std::make_shared<ConcatenateStage>(inputs);
});

}  // namespace

DatasetTransform concatenate(Dataset other) {
  return [other = std::move(other)](const Dataset& input) { return Dataset::make("concatenate", {input, other}, {}); };
}

}  // namespace cohort::datasets
