#include "cohort/datasets/transforms/zip.h"

#include <algorithm>
#include <exception>
#include <set>

#include "cohort/data/broken_source.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/transforms/joined_inputs.h"
#include "cohort/datasets/transforms/workspaces.h"

namespace cohort::datasets {
namespace {

constexpr const char* kZip = "Dataset.zip";

// Lends each part of an element to the input that writes it.
struct ElementInParts {
  std::vector<Tensors> parts;

  void take(Tensors& element, const std::vector<Specs>& specs) {
    parts.resize(specs.size());
    std::size_t total = 0;
    for (const Specs& each : specs) total += each.size();
    element.resize(total);
    swap_with(element, specs);
  }
  void give_back(Tensors& element, const std::vector<Specs>& specs) { swap_with(element, specs); }
  void make_room_like(const ElementInParts& other) {
    parts.resize(other.parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].resize(other.parts[i].size());
  }
  void reserve(std::size_t) {}

 private:
  void swap_with(Tensors& element, const std::vector<Specs>& specs) {
    auto leaf = element.begin();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].resize(specs[i].size());
      leaf = std::swap_ranges(parts[i].begin(), parts[i].end(), leaf);
    }
  }
};

class ZipIterator : public JoinedIterator {
 public:
  // `ending_first` are the numbers of the inputs, those that never end last.
  ZipIterator(std::vector<std::unique_ptr<DatasetIterator>> inputs, std::vector<Specs> specs,
              std::vector<std::size_t> ending_first)
      : JoinedIterator(std::move(inputs)), specs_(std::move(specs)), ending_first_(std::move(ending_first)) {}

  bool next(Tensors& element) override {
    if (ended_) return false;
    std::exception_ptr error;
    element_.take(element, specs_);
    for (std::size_t i = 0; i < inputs_.size() && !ended_; ++i) read(i, error);
    element_.give_back(element, specs_);
    if (error && !ended_) std::rethrow_exception(error);
    return !ended_;
  }
  // Those that end say how far those that never end have to go.
  std::uint64_t skip(std::uint64_t count) override {
    if (ended_) return 0;
    std::uint64_t passed = count;
    for (const std::size_t i : ending_first_) passed = std::min(passed, inputs_[i]->skip(passed));
    ended_ = passed < count;
    return passed;
  }
  std::optional<ElementKey> key() const override { return inputs_[0]->key(); }
  void rewind() override {
    ended_ = false;
    JoinedIterator::rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('z');
    state.number(ended_);
    JoinedIterator::save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('z');
    ended_ = state.number() != 0;
    JoinedIterator::restore_from(state);
  }

 private:
  // An input that fails is behind its element, and the others must be, too.
  void read(std::size_t input, std::exception_ptr& error) {
    try {
      ended_ = !inputs_[input]->next(element_.parts[input]);
    } catch (const BrokenSource&) {
      throw;
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }

  std::vector<Specs> specs_;
  std::vector<std::size_t> ending_first_;
  ElementInParts element_;
  bool ended_ = false;  // an input did; the others may be further on
};

class ZippedElements : public JoinedElements {
 public:
  ZippedElements(std::vector<std::unique_ptr<IndexedElements>> parts, std::vector<Specs> specs)
      : JoinedElements(std::move(parts)), specs_(std::move(specs)) {}

  std::uint64_t count() const override {
    std::uint64_t least = kEndless;
    for (const auto& part : parts_) least = std::min(least, part->count());
    return least;
  }
  ElementKey key(ElementPlace place) const override { return key_in(*parts_[0], place); }
  void read(ElementPlace place, Tensors& element) const override {
    const Workspaces<ElementInParts>::Lease lease(rooms_);
    lease->take(element, specs_);
    for (std::size_t i = 0; i < parts_.size(); ++i) read_from(*parts_[i], place, lease->parts[i]);
    lease->give_back(element, specs_);
  }
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves,
                 const Specs& specs) const override {
    if (!are_its_own(specs)) return JoinedElements::read_rows(places, leaves, specs);
    std::size_t leaf = 0;
    for (std::size_t i = 0; i < parts_.size(); leaf += specs_[i++].size()) {
      read_rows_from(*parts_[i], 0, places, leaves.subspan(leaf, specs_[i].size()), 0, specs_[i]);
    }
  }

 private:
  // Elsewhere shapes may have become known that are unknown here.
  bool are_its_own(const Specs& specs) const {
    auto leaf = specs.begin();
    for (const Specs& part : specs_) {
      if (!std::equal(part.begin(), part.end(), leaf)) return false;
      leaf += static_cast<std::ptrdiff_t>(part.size());
    }
    return true;
  }

  std::vector<Specs> specs_;
  mutable Workspaces<ElementInParts> rooms_{[] { return std::make_unique<ElementInParts>(); }};
};

ElementSpec zipped_spec(const std::vector<Dataset>& inputs, const std::vector<std::string>& names) {
  if (names.empty()) {
    std::vector<ElementSpec> members;
    for (const Dataset& input : inputs) members.push_back(input.element_spec());
    return ElementSpec::tuple(std::move(members));
  }
  if (names.size() != inputs.size() || std::set(names.begin(), names.end()).size() != names.size()) {
    throw invalid_argument(kZip, "one name for each dataset, and none twice, is expected",
                           {{"datasets", inputs.size()}, {"names", to_string(AttributeValue(names))}});
  }
  std::vector<ElementSpec::Named> members;
  for (std::size_t i = 0; i < inputs.size(); ++i) members.emplace_back(names[i], inputs[i].element_spec());
  return ElementSpec::dict(std::move(members));
}

class ZipStage : public DatasetStage {
 public:
  ZipStage(const std::vector<Dataset>& inputs, const std::vector<std::string>& names) : inputs_(inputs) {
    if (inputs.empty()) throw invalid_argument(kZip, "at least one dataset is expected", {{"datasets", 0}});
    spec_ = zipped_spec(inputs, names);
    for (const Dataset& input : inputs) specs_.push_back(input.element_spec().flatten());
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    std::int64_t least = kInfiniteCardinality;
    for (const Dataset& input : inputs_) {
      const std::int64_t available = input.cardinality();
      if (available == kUnknownCardinality) return kUnknownCardinality;
      if (available >= 0) least = least == kInfiniteCardinality ? available : std::min(least, available);
    }
    return least;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<ZipIterator>(iterators_of(inputs_), specs_, ending_first());
  }
  bool is_indexed() const override { return all_indexed(inputs_); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<ZippedElements>(indexed_parts(inputs_), specs_);
  }

 private:
  std::vector<std::size_t> ending_first() const {
    std::vector<std::size_t> order;
    for (const bool infinite : {false, true}) {
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if ((inputs_[i].cardinality() == kInfiniteCardinality) == infinite) order.push_back(i);
      }
    }
    return order;
  }

  std::vector<Dataset> inputs_;
  ElementSpec spec_;
  std::vector<Specs> specs_;  // of each input
};

COHORT_DATASET("zip", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<ZipStage>(inputs, attributes.get<std::vector<std::string>>("names"));
});

}  // namespace

Dataset zip(const std::vector<Dataset>& datasets) {
  return Dataset::make("zip", datasets, {{"names", std::vector<std::string>()}});
}

Dataset zip(const std::vector<std::pair<std::string, Dataset>>& datasets) {
  std::vector<std::string> names;
  std::vector<Dataset> inputs;
  for (const auto& [name, dataset] : datasets) {
    names.push_back(name);
    inputs.push_back(dataset);
  }
  return Dataset::make("zip", std::move(inputs), {{"names", std::move(names)}});
}

}  // namespace cohort::datasets
