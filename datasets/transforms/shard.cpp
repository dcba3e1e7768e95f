#include "cohort/datasets/transforms/shard.h"

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
      const std::uint64_t others = started_ ? num_shards_ - 1 : index_;
      if (others > 0 && discard_input(others) < others) return filled;
      started_ = true;
      if (from_input(items.subspan(filled, 1)) == 0) return filled;
    }
    return items.size();
  }
  void rewind() override {
    started_ = false;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('H');
    state.number(started_);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('H');
    started_ = state.number() != 0;
    input_->restore_from(state);
  }

 private:
  std::uint64_t num_shards_, index_;
  bool started_ = false;
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
    return std::make_unique<ShardIterator>(input().make_iterator(), static_cast<std::uint64_t>(num_shards_),
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
