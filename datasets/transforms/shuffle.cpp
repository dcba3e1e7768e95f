#include "cohort/datasets/transforms/shuffle.h"

#include <algorithm>
#include <atomic>

#include "cohort/core/random.h"
#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

// Told apart from random ops that share the seed.
constexpr std::uint64_t kShuffleStream = 0x73687566666c65;

// Elements or row numbers, of which the first `size` are held; the rest keep their memory for later ones.
template <class Item>
struct Pool {
  std::vector<Item> items;
  std::size_t size = 0;
  Item incoming{};  // read before anything moves: an input that throws leaves the pool as it was
};

// Holds up to `buffer_size` elements and gives out a random one of them, which the next one of the input replaces.
class ShuffleIterator : public Selection<ShuffleIterator> {
 public:
  ShuffleIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t buffer_size, std::uint64_t seed, bool reshuffle,
                  std::uint64_t run)
      : Selection(std::move(input)), buffer_size_(buffer_size), seed_(seed), reshuffle_(reshuffle), run_(run) {
    begin();
  }

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    Pool<Item>& pool = pool_of(static_cast<Item*>(nullptr));
    if (!filled_) fill(pool);
    std::size_t given = 0;
    while (given < items.size() && pool.size > 0) {
      if (!input_ended_) input_ended_ = from_input({&pool.incoming, 1}) == 0;
      const std::size_t chosen = draw(pool.size);
      std::swap(items[given++], pool.items[chosen]);
      if (!input_ended_) {
        std::swap(pool.items[chosen], pool.incoming);
        continue;
      }
      std::swap(pool.items[chosen], pool.items[--pool.size]);
    }
    return given;
  }
  void rewind() override {
    ++epoch_;
    input_->rewind();
    begin();
  }
  // The elements held are not written: which they are follows from the start of the pass and the number given out. The
  // seed is: another process may have drawn another one.
  void save_to(StateWriter& state) const override {
    state.stage('S');
    state.number(seed_);
    state.number(run_);
    state.number(epoch_);
    state.number(given_);
    state.bytes(start_);
  }
  void restore_from(StateReader& state) override {
    state.stage('S');
    const std::uint64_t seed = state.number(), run = state.number(), epoch = state.number(), given = state.number();
    const std::string_view start = state.bytes();
    // Further on in the pass that it walks: what lies behind is not read again.
    const bool ahead = seed == seed_ && run == run_ && epoch == epoch_ && start == start_ && given >= given_;
    if (!ahead) {
      seed_ = seed;
      run_ = run;
      epoch_ = epoch;
      input_->restore(start);
      begin();
    }
    pass_over(given - given_);
  }

 private:
  // Row numbers come from memory and many at a time; what computes an element may throw, and loses that one only.
  static constexpr std::size_t chunk(std::int64_t*) { return 1024; }
  static constexpr std::size_t chunk(Tensors*) { return 1; }

  Pool<std::int64_t>& pool_of(std::int64_t*) { return rows_; }
  Pool<Tensors>& pool_of(Tensors*) { return elements_; }

  // A new pass over an input that stands where the pass starts.
  void begin() {
    write_input_state(start_);
    given_ = 0;
    filled_ = input_ended_ = false;
    rows_.size = elements_.size = 0;
    stream_ = reshuffle_ ? PhiloxStream({.seed = seed_, .epoch = epoch_, .step = run_}, kShuffleStream, 0)
                         : PhiloxStream({.seed = seed_}, kShuffleStream, 0);
  }

  // In chunks: a buffer larger than the dataset takes no more memory than the dataset.
  template <class Item>
  void fill(Pool<Item>& pool) {
    while (pool.size < buffer_size_ && !input_ended_) {
      const std::size_t wanted = std::min<std::uint64_t>(chunk(static_cast<Item*>(nullptr)), buffer_size_ - pool.size);
      if (pool.items.size() < pool.size + wanted) pool.items.resize(pool.size + wanted);
      const std::size_t got = from_input(std::span(pool.items).subspan(pool.size, wanted));
      pool.size += got;
      input_ended_ = got < wanted;
    }
    filled_ = true;
  }

  std::size_t draw(std::size_t choices) {
    if (given_ % 2 == 0) block_ = stream_.block(given_ / 2);
    const std::size_t half = given_++ % 2 * 2;
    const std::uint64_t word = (std::uint64_t{block_[half]} << 32) | block_[half + 1];
    return static_cast<std::size_t>((static_cast<unsigned __int128>(word) * choices) >> 64);
  }

  std::uint64_t buffer_size_, seed_;
  bool reshuffle_;
  std::uint64_t run_, epoch_ = 0;
  std::string start_;  // the input's state at the start of the pass
  std::uint64_t given_ = 0;
  bool filled_ = false, input_ended_ = false;
  Pool<std::int64_t> rows_;
  Pool<Tensors> elements_;
  PhiloxStream stream_{{}, 0, 0};
  std::array<std::uint32_t, 4> block_{};
};

class ShuffleStage : public TransformStage {
 public:
  ShuffleStage(const std::vector<Dataset>& inputs, const Attributes& attributes)
      : TransformStage("Dataset.shuffle", inputs),
        buffer_size_(attributes.get<std::int64_t>("buffer_size")),
        seed_(static_cast<std::uint64_t>(attributes.get<std::int64_t>("seed"))),
        reshuffle_(attributes.get<bool>("reshuffle_each_iteration", true)) {
    if (buffer_size_ < 1) {
      throw invalid_argument("Dataset.shuffle", "a buffer of at least one element is expected",
                             {{"buffer_size", buffer_size_}}, "Use the number of elements for a full shuffle.");
    }
  }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<ShuffleIterator>(input().make_iterator(), static_cast<std::uint64_t>(buffer_size_), seed_,
                                             reshuffle_, runs_.fetch_add(1));
  }

 private:
  std::int64_t buffer_size_;
  std::uint64_t seed_;
  bool reshuffle_;
  // A loop that makes an iterator for each epoch expects another order each time.
  mutable std::atomic<std::uint64_t> runs_{0};
};

COHORT_DATASET("shuffle", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<ShuffleStage>(inputs, attributes);
});

}  // namespace

DatasetTransform shuffle(std::int64_t buffer_size, ShuffleOptions options) {
  return [=](const Dataset& input) {
    // Drawn here and not by the iterator, so that the seed travels with the dataset.
    const std::int64_t seed = options.seed ? *options.seed : static_cast<std::int64_t>(next_op_seed());
    return Dataset::make(
        "shuffle", {input},
        {{"buffer_size", buffer_size}, {"seed", seed}, {"reshuffle_each_iteration", options.reshuffle_each_iteration}});
  };
}

}  // namespace cohort::datasets
