#include "cohort/data/iterator.h"

#include <algorithm>
#include <atomic>

#include "cohort/core/dispatch.h"
#include "cohort/data/broken_source.h"

namespace cohort {
namespace {

std::string unique_name() {
  static std::atomic<std::uint64_t> count{0};
  return "iterator_" + std::to_string(count++);
}

// Specs as attributes: element types, and for each tensor its rank followed by its sizes.
Attributes attributes_of(const ElementSpec& spec) {
  std::vector<std::int64_t> dtypes, shapes;
  for (const TensorSpec& leaf : spec.flatten()) {
    dtypes.push_back(static_cast<std::int64_t>(leaf.dtype));
    shapes.push_back(leaf.shape.rank());
    shapes.insert(shapes.end(), leaf.shape.begin(), leaf.shape.end());
  }
  return {{"dtypes", dtypes}, {"shapes", shapes}};
}

}  // namespace

std::string DatasetIterator::save() const {
  std::string state;
  StateWriter writer(state);
  writer.number(fingerprint_);
  save_to(writer);
  return state;
}

void DatasetIterator::restore(std::string_view state) {
  StateReader reader(state);
  if (reader.number() != fingerprint_) {
    throw invalid_argument("Iterator.restore", "the state of an iterator of the same dataset is expected",
                           {{"state", "of another chain of stages, or of other files"}},
                           "Build the dataset as it was when the state was saved, or start over.");
  }
  restore_from(reader);
  reader.finish();
}

std::uint64_t DatasetIterator::skip(std::uint64_t count) {
  Tensors scratch;
  std::uint64_t passed = 0;
  while (passed < count) {
    try {
      if (!next(scratch)) break;
    } catch (const BrokenSource&) {
      throw;
    } catch (const std::exception&) {
      // Nobody asked for this one.
    }
    ++passed;
  }
  return passed;
}

std::size_t DatasetIterator::next_places(std::span<ElementPlace>) {
  throw internal_error("DatasetIterator", "places are asked of iterators whose elements are indexed");
}

DatasetStats DatasetIterator::stats() const {
  DatasetStats stats;
  collect_stats(stats);
  return stats;
}

IteratorResource::IteratorResource(std::unique_ptr<DatasetIterator> iterator, ElementSpec spec)
    : Resource(unique_name()), iterator_(std::move(iterator)), spec_(std::move(spec)) {}

const Tensors& IteratorResource::next_element() {
  if (!iterator_->next(element_)) {
    throw Error(ErrorCode::OutOfRange, "Iterator.next", "an element is expected, but the dataset has ended", {},
                "Add .repeat() to the dataset, or ask for fewer elements.");
  }
  return element_;
}

Iterator::Iterator(std::unique_ptr<DatasetIterator> iterator, ElementSpec spec)
    : handle_(Tensor::of_resource(std::make_shared<IteratorResource>(std::move(iterator), std::move(spec)))) {}

Iterator::Iterator(Tensor handle) : handle_(std::move(handle)) {}

IteratorResource& Iterator::resource() const {
  auto* resource = handle_.defined() ? dynamic_cast<IteratorResource*>(handle_.resource().get()) : nullptr;
  if (!resource) {
    throw invalid_argument("Iterator", "the handle of a dataset's iterator is expected",
                           {{"handle", handle_.defined() ? handle_.spec().to_string() : "none"}},
                           "Make it with Dataset::iterator(), and call a function of iterators with one.");
  }
  return *resource;
}

const ElementSpec& Iterator::element_spec() const { return resource().element_spec(); }

DatasetIterator& Iterator::dataset_iterator() const { return resource().dataset_iterator(); }

DatasetStats Iterator::stats() const { return dataset_iterator().stats(); }

Tensors Iterator::next_leaves() const {
  if (handle_.is_symbolic() || current_trace()) {
    return run_op_all("IteratorNext", {handle_}, attributes_of(element_spec()));
  }
  return resource().next_element();
}

Element Iterator::next() const { return element_spec().with_leaves(next_leaves()); }

Tensors Iterator::next_leaves(std::size_t expected) const {
  const ElementSpec& spec = element_spec();
  const std::size_t leaves = spec.flatten().size();
  if (leaves != expected) {
    throw invalid_argument("Iterator.next", "as many names as an element has tensors are expected",
                           {{"names", expected}, {"element", to_string(spec)}});
  }
  return next_leaves();
}

}  // namespace cohort
