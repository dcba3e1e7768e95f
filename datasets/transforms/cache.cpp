#include "cohort/datasets/transforms/cache.h"

#include <algorithm>
#include <mutex>

#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

// What one pass over the input gave: elements as they came, or the places of rows that are in memory anyway.
struct Contents {
  std::string start;  // the input's state before the pass
  std::vector<ElementPlace> places;
  std::vector<StreamedElement> elements;

  std::vector<ElementPlace>& list(ElementPlace*) { return places; }
  std::vector<StreamedElement>& list(StreamedElement*) { return elements; }
};

// The first complete pass, shared by all iterators of the dataset. Thread-safe.
class Store {
 public:
  std::shared_ptr<Contents> get() const {
    std::lock_guard lock(mutex_);
    return contents_;
  }
  void publish(const std::shared_ptr<Contents>& contents) {
    std::lock_guard lock(mutex_);
    if (!contents_) contents_ = contents;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Contents> contents_;
};

class CacheIterator : public Selection<CacheIterator> {
 public:
  CacheIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<Store> store)
      : Selection(std::move(input)), store_(std::move(store)) {
    // Rows in memory are kept by their numbers; what is computed is kept itself.
    if (const IndexedElements* elements = input_->indexed()) {
      const IndexedElements& holder = elements->resolve({});
      if (holder.columns()) rows_ = &holder;
    }
    begin();
    adopt();
  }

  const IndexedElements* indexed() const override { return rows_; }
  template <class Item>
  std::size_t pull(std::span<Item> items) {
    std::vector<Item>& list = contents_->list(static_cast<Item*>(nullptr));
    std::size_t filled = std::min(items.size(), list.size() - position_);
    std::copy_n(list.begin() + static_cast<std::ptrdiff_t>(position_), filled, items.begin());
    position_ += filled;
    if (filled < items.size() && !complete_) {
      const std::span<Item> fresh = items.subspan(filled);
      const std::size_t got = read(fresh);
      list.insert(list.end(), fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(got));
      position_ += got;
      filled += got;
      if (got < fresh.size()) {
        complete_ = true;
        store_->publish(contents_);
      }
    }
    for (Item& item : items.first(filled)) set_pass(item);
    return filled;
  }
  // What was not read yet is read now: the next pass will not ask the input for it.
  std::uint64_t skip(std::uint64_t count) override {
    const std::uint64_t known =
        std::min<std::uint64_t>(count, (rows_ ? contents_->places.size() : contents_->elements.size()) - position_);
    position_ += known;
    return known < count && !complete_ ? known + Selection::skip(count - known) : known;
  }
  // A pass that was left half way is taken up where it stopped once its elements have been given out again.
  void rewind() override {
    ++pass_;
    position_ = 0;
    if (!complete_) adopt();
  }
  void save_to(StateWriter& state) const override {
    state.stage('C');
    state.number(pass_);
    state.number(position_);
    state.bytes(contents_->start);
  }
  void restore_from(StateReader& state) override {
    state.stage('C');
    pass_ = state.number();
    const std::uint64_t position = state.number();
    const std::string_view start = state.bytes();
    if (contents_->start != start) {
      const std::shared_ptr<Contents> known = store_->get();
      if (known && known->start == start) {
        contents_ = known;
        complete_ = true;
      } else {
        restore_input(start);
        begin();
      }
    }
    position_ = 0;
    pass_over(position);
  }

 private:
  std::size_t read(std::span<StreamedElement> elements) { return from_input(elements); }
  std::size_t read(std::span<ElementPlace> places) {
    const std::size_t got = from_input(places);
    input_->indexed()->resolve(places.first(got));
    return got;
  }
  // A later pass over the same elements draws other numbers for them.
  void set_pass(ElementPlace& place) const { place.pass = pass_; }
  void set_pass(StreamedElement& element) const {
    if (element.key) element.key->pass = pass_;
  }
  void begin() {
    contents_ = std::make_shared<Contents>();
    StateWriter writer(contents_->start);
    input_->save_to(writer);
    complete_ = false;
    position_ = 0;
  }
  void adopt() {
    if (std::shared_ptr<Contents> known = store_->get()) {
      contents_ = std::move(known);
      complete_ = true;
    }
  }

  std::shared_ptr<Store> store_;
  const IndexedElements* rows_ = nullptr;
  std::shared_ptr<Contents> contents_;  // changed by nobody once it is complete
  bool complete_ = false;
  std::uint64_t pass_ = 0;
  std::size_t position_ = 0;
};

class CacheStage : public TransformStage {
 public:
  explicit CacheStage(const std::vector<Dataset>& inputs) : TransformStage("Dataset.cache", inputs) {}

  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<CacheIterator>(input().make_iterator(), store_);
  }

 private:
  std::shared_ptr<Store> store_ = std::make_shared<Store>();
};

COHORT_DATASET("cache", [](const std::vector<Dataset>& inputs, const Attributes&) {
  return std::make_shared<CacheStage>(inputs);
});

}  // namespace

DatasetTransform cache() { return make_transform("cache"); }

DatasetTransform cache(const std::string& file) {
  return file.empty() ? cache() : make_transform("cache_in_file", {{"file", file}});
}

}  // namespace cohort::datasets
