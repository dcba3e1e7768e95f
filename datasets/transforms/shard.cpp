#include "cohort/datasets/transforms/shard.h"

#include <algorithm>

#include "cohort/datasets/sources/every_nth_slice.h"
#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

class ShardIterator : public Selection<ShardIterator> {
 public:
  ShardIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t num_shards, std::uint64_t index)
      : Selection(std::move(input)), num_shards_(num_shards), index_(index) {}

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    for (std::size_t filled = 0; filled < items.size(); ++filled) {
      if (!pass_others()) return filled;
      started_ = true;
      // Before it is read: one that throws is behind it, too.
      passed_others_ = false;
      if (from_input(items.subspan(filled, 1)) == 0) return filled;
    }
    return items.size();
  }
  std::uint64_t skip(std::uint64_t count) override {
    if (count == 0 || !pass_others()) return 0;
    started_ = true;
    passed_others_ = false;
    const std::uint64_t own_left = (UINT64_MAX - 1) / num_shards_;
    const std::uint64_t asked = (std::min(count, own_left) - 1) * num_shards_ + 1;
    const std::uint64_t passed = input_->skip(asked);
    return passed == 0 ? 0 : (passed - 1) / num_shards_ + 1;
  }
  void rewind() override {
    started_ = passed_others_ = false;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('H');
    state.number(started_);
    state.number(passed_others_);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('H');
    started_ = state.number() != 0;
    passed_others_ = state.number() != 0;
    input_->restore_from(state);
  }

 private:
  // Goes past the elements of other shards before the next own one; whether there were enough.
  bool pass_others() {
    if (passed_others_) return true;
    const std::uint64_t others = started_ ? num_shards_ - 1 : index_;
    passed_others_ = others == 0 || input_->skip(others) == others;
    return passed_others_;
  }

  std::uint64_t num_shards_, index_;
  bool started_ = false, passed_others_ = false;
};

class ElementsOfShard : public IndexedSelection {
 public:
  ElementsOfShard(std::unique_ptr<IndexedElements> input, std::uint64_t num_shards, std::uint64_t index)
      : IndexedSelection(std::move(input)), num_shards_(num_shards), index_(index) {}

  std::uint64_t count() const override {
    const std::uint64_t all = input_->count();
    if (all == kEndless) return kEndless;
    return all > index_ ? (all - index_ - 1) / num_shards_ + 1 : 0;
  }

 protected:
  void to_input(std::span<ElementPlace> places) const override {
    for (ElementPlace& place : places) place.position = place.position * num_shards_ + index_;
  }

 private:
  std::uint64_t num_shards_, index_;
};

class ShardStage : public TransformStage {
 public:
  ShardStage(const std::vector<Dataset>& inputs, std::int64_t num_shards, std::int64_t index)
      : TransformStage("Dataset.shard", inputs), num_shards_(num_shards), index_(index) {
    if (num_shards < 1 || index < 0 || index >= num_shards) {
      throw invalid_argument("Dataset.shard", "at least one shard and an index in [0, num_shards) are expected",
                             {{"num_shards", num_shards}, {"index", index}});
    }
  }
  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    return available < 0 ? available : available / num_shards_ + (available % num_shards_ > index_ ? 1 : 0);
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<ShardIterator>(input().make_iterator(), static_cast<std::uint64_t>(num_shards_),
                                           static_cast<std::uint64_t>(index_));
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<ElementsOfShard>(input().stage().indexed(), static_cast<std::uint64_t>(num_shards_),
                                             static_cast<std::uint64_t>(index_));
  }

 private:
  std::int64_t num_shards_, index_;
};

COHORT_DATASET("shard", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<ShardStage>(inputs, attributes.get<std::int64_t>("num_shards"),
                                      attributes.get<std::int64_t>("index"));
});

}  // namespace

// Rows in memory are divided at once: what is sent to another process is one part of them.
DatasetTransform shard(std::int64_t num_shards, std::int64_t index) {
  return
      [=, transform = make_transform("shard", {{"num_shards", num_shards}, {"index", index}})](const Dataset& input) {
        const Dataset sharded = transform(input);
        return is_tensor_slices(input) ? every_nth_slice(input, num_shards, index) : sharded;
      };
}

}  // namespace cohort::datasets
