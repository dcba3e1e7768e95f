#include "cohort/datasets/sources/sequence.h"

#include <mutex>
#include <shared_mutex>

#include "cohort/core/error.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/element_check.h"
#include "cohort/datasets/sources/named_objects.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/transforms/spec_attributes.h"

namespace cohort::datasets {
namespace {

constexpr NamedKind kSequences{"datasets.from_sequence", "a sequence", "COHORT_SEQUENCE"};
using NamedSequences = NamedObjects<const SequenceFactory>;
using LocalSequences = NamedObjects<utils::Sequence>;

// A sequence and the epoch that it is in. Thread-safe.
class SharedSequence {
 public:
  explicit SharedSequence(std::shared_ptr<utils::Sequence> sequence)
      : sequence_(std::move(sequence)), is_thread_safe_(sequence_->is_thread_safe()) {}

  bool is_thread_safe() const { return is_thread_safe_; }
  Element get(ElementPlace place) {
    reach(place.pass);
    if (!is_thread_safe_) {
      std::lock_guard lock(mutex_);
      return sequence_->get(static_cast<std::int64_t>(place.position));
    }
    std::shared_lock lock(mutex_);
    return sequence_->get(static_cast<std::int64_t>(place.position));
  }

 private:
  void reach(std::uint64_t pass) {
    {
      std::shared_lock lock(mutex_);
      if (pass_ >= pass) return;
    }
    std::lock_guard lock(mutex_);
    for (; pass_ < pass; ++pass_) sequence_->on_epoch_end();
  }

  std::shared_ptr<utils::Sequence> sequence_;
  bool is_thread_safe_;
  std::shared_mutex mutex_;
  std::uint64_t pass_ = 0;
};

class SequenceElements : public IndexedElements {
 public:
  SequenceElements(std::shared_ptr<SharedSequence> sequence, const ElementSpec& spec, std::uint64_t count)
      : sequence_(std::move(sequence)), spec_(spec), specs_(spec.flatten()), count_(count) {}

  std::uint64_t count() const override { return count_; }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    const Element given = sequence_->get(place);
    if (!given.same_structure(spec_)) {
      throw invalid_argument(
          kSequences.who, "a batch of the structure announced is expected",
          {{"index", place.position}, {"given", structure_of(given)}, {"announced", structure_of(spec_)}});
    }
    element.clear();
    given.flatten_into(element);
    check_element(kSequences.who, specs_, element, place.position);
    for (Tensor& leaf : element) leaf = leaf.to_host();
  }
  // What a program's own code does is not known.
  bool blocks() const override { return true; }
  std::size_t parallel_reads() const override { return sequence_->is_thread_safe() ? 0 : 1; }

 private:
  std::shared_ptr<SharedSequence> sequence_;
  ElementSpec spec_;
  Specs specs_;
  std::uint64_t count_;
};

class SequenceStage : public DatasetStage {
 public:
  SequenceStage(std::shared_ptr<utils::Sequence> sequence, ElementSpec spec, std::int64_t count)
      : sequence_(std::make_shared<SharedSequence>(std::move(sequence))), spec_(std::move(spec)), count_(count) {
    if (count < 0) throw invalid_argument(kSequences.who, "a number of batches is expected", {{"count", count}});
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<SequenceElements>(sequence_, spec_, static_cast<std::uint64_t>(count_));
  }

 private:
  std::shared_ptr<SharedSequence> sequence_;
  ElementSpec spec_;
  std::int64_t count_;
};

std::shared_ptr<utils::Sequence> make_registered(const std::string& name) {
  std::shared_ptr<utils::Sequence> sequence = (*NamedSequences::instance().find(kSequences, name))();
  if (!sequence) {
    throw invalid_argument(kSequences.who, "a factory that gives a sequence is expected", {{"name", name}});
  }
  return sequence;
}

COHORT_DATASET("sequence", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kSequences.who, inputs);
  const auto name = attributes.get<std::string>("name");
  return std::make_shared<SequenceStage>(
      name.empty() ? LocalSequences::instance().find_local(kSequences, attributes.get<std::string>("local_function"))
                   : make_registered(name),
      element_spec_of(kSequences.who, attributes), attributes.get<std::int64_t>("count"));
});

// What a sequence gives is asked of its first batch where nobody says.
Dataset make_sequence(utils::Sequence& sequence, const std::string& name, const std::string& local,
                      const std::optional<ElementSpec>& spec) {
  const std::int64_t count = sequence.size();
  if (!spec && count < 1) {
    throw invalid_argument(kSequences.who, "at least one batch is expected", {{"size", count}}, "Or give the spec.");
  }
  Attributes attributes{{"name", name}, {"local_function", local}, {"count", count}};
  add_element_spec(spec ? *spec : with_unknown_batch(spec_of(sequence.get(0))), attributes);
  return Dataset::make("sequence", {}, std::move(attributes));
}

}  // namespace

Dataset from_sequence(const std::shared_ptr<utils::Sequence>& sequence, std::optional<ElementSpec> spec) {
  if (!sequence) throw invalid_argument(kSequences.who, "a sequence is expected");
  return make_sequence(*sequence, "", LocalSequences::instance().add_local(sequence), spec);
}

Dataset from_sequence(const std::string& name, std::optional<ElementSpec> spec) {
  const std::shared_ptr<utils::Sequence> sequence = make_registered(name);
  return make_sequence(*sequence, name, "", spec);
}

bool register_sequence(const std::string& name, SequenceFactory factory) {
  NamedSequences::instance().add(kSequences, name, std::make_shared<const SequenceFactory>(std::move(factory)));
  return true;
}

}  // namespace cohort::datasets
