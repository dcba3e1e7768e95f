#include "cohort/datasets/transforms/cache.h"

#include <algorithm>
#include <mutex>

#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

// What one pass over the input gave: elements as they came, or the numbers of rows that are in memory anyway.
struct Contents {
  std::string start;  // the input's state before the pass
  std::vector<std::int64_t> rows;
  std::vector<Tensors> elements;

  std::vector<std::int64_t>& list(std::int64_t*) { return rows; }
  std::vector<Tensors>& list(Tensors*) { return elements; }
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
    begin();
    adopt();
  }

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    std::vector<Item>& list = contents_->list(static_cast<Item*>(nullptr));
    std::size_t filled = std::min(items.size(), list.size() - position_);
    std::copy_n(list.begin() + static_cast<std::ptrdiff_t>(position_), filled, items.begin());
    position_ += filled;
    if (filled == items.size() || complete_) return filled;
    const std::span<Item> fresh = items.subspan(filled);
    const std::size_t got = from_input(fresh);
    list.insert(list.end(), fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(got));
    position_ += got;
    if (got < fresh.size()) {
      complete_ = true;
      store_->publish(contents_);
    }
    return filled + got;
  }
  // A pass that was left half way is taken up where it stopped once its elements have been given out again.
  void rewind() override {
    position_ = 0;
    if (!complete_) adopt();
  }
  void save_to(StateWriter& state) const override {
    state.stage('C');
    state.number(position_);
    state.bytes(contents_->start);
  }
  void restore_from(StateReader& state) override {
    state.stage('C');
    const std::uint64_t position = state.number();
    const std::string_view start = state.bytes();
    if (contents_->start != start) {
      const std::shared_ptr<Contents> known = store_->get();
      if (known && known->start == start) {
        contents_ = known;
        complete_ = true;
      } else {
        input_->restore(start);
        begin();
      }
    }
    position_ = 0;
    pass_over(position);
  }

 private:
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
  std::shared_ptr<Contents> contents_;  // changed by nobody once it is complete
  bool complete_ = false;
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

}  // namespace cohort::datasets
