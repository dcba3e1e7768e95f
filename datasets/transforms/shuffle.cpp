#include "cohort/datasets/transforms/shuffle.h"

#include <algorithm>
#include <atomic>

#include "cohort/core/random.h"
#include "cohort/data/broken_source.h"
#include "cohort/datasets/transforms/permutation.h"
#include "cohort/datasets/transforms/selection.h"

namespace cohort::datasets {
namespace {

// Told apart from random ops that share the seed.
constexpr std::uint64_t kShuffleStream = 0x73687566666c65;

// What decides about the orders of an iterator's passes, besides the pass.
struct ShuffleSeed {
  std::uint64_t seed;
  std::uint64_t run;  // of several iterators of the dataset, which one
  bool reshuffle;     // another order in every pass

  PhiloxStream stream(std::uint64_t pass) const {
    return reshuffle ? PhiloxStream({.seed = seed, .epoch = pass, .step = run}, kShuffleStream, 0)
                     : PhiloxStream({.seed = seed}, kShuffleStream, 0);
  }
  void save_to(StateWriter& state) const {
    state.number(seed);
    state.number(run);
  }
  // The seed travels: another process may have drawn another one.
  void restore_from(StateReader& state) {
    seed = state.number();
    run = state.number();
  }
  friend bool operator==(const ShuffleSeed&, const ShuffleSeed&) = default;
};

// A whole dataset in random order.
class PermutedElements : public IndexedSelection {
 public:
  PermutedElements(std::unique_ptr<IndexedElements> input, ShuffleSeed seed)
      : IndexedSelection(std::move(input)), seed_(seed) {}

  std::uint64_t count() const override { return input_->count(); }
  void save_to(StateWriter& state) const override {
    state.stage('S');
    seed_.save_to(state);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('S');
    seed_.restore_from(state);
    input_->restore_from(state);
  }

 protected:
  void to_input(std::span<ElementPlace> places) const override {
    for (std::size_t begin = 0, end; begin < places.size(); begin = end) {
      const std::uint64_t pass = places[begin].pass;
      const Permutation order(input_->count(), seed_.stream(pass));
      for (end = begin; end < places.size() && places[end].pass == pass; ++end) {
        places[end].position = order(places[end].position);
      }
    }
  }

 private:
  ShuffleSeed seed_;
};

// Elements or places, of which the first `size` are held; the rest keep their memory for later ones.
template <class Item>
struct Pool {
  std::vector<Item> items;
  std::size_t size = 0;
  Item incoming{};  // read before anything moves: an input that throws leaves the pool as it was
};

// Holds up to `buffer_size` elements and gives out a random one of them, which the next one of the input replaces.
class ShuffleIterator : public Selection<ShuffleIterator> {
 public:
  ShuffleIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t buffer_size, ShuffleSeed seed)
      : Selection(std::move(input)), buffer_size_(buffer_size), seed_(seed) {
    begin();
  }

  template <class Item>
  std::size_t pull(std::span<Item> items) {
    Pool<Item>& pool = pool_of(static_cast<Item*>(nullptr));
    if (!filled_) fill(pool);
    std::size_t given = 0;
    while (given < items.size() && pool.size > 0) {
      if (!input_ended_) input_ended_ = take_in({&pool.incoming, 1}) == 0;
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
  std::uint64_t skip(std::uint64_t count) override { return indexed() ? skip_places(count) : skip_elements(count); }
  void rewind() override {
    ++epoch_;
    input_->rewind();
    begin();
  }
  // The elements held are not written: which they are follows from the start of the pass and the number given out.
  void save_to(StateWriter& state) const override {
    state.stage('S');
    seed_.save_to(state);
    state.number(epoch_);
    state.number(given_);
    state.bytes(start_);
  }
  void restore_from(StateReader& state) override {
    state.stage('S');
    ShuffleSeed seed = seed_;
    seed.restore_from(state);
    const std::uint64_t epoch = state.number(), given = state.number();
    const std::string_view start = state.bytes();
    // Further on in the pass that it walks: what lies behind is not read again.
    const bool ahead = seed == seed_ && epoch == epoch_ && start == start_ && given >= given_;
    if (!ahead) {
      seed_ = seed;
      epoch_ = epoch;
      restore_input(start);
      begin();
    }
    pass_over(given - given_);
  }

 private:
  // Places cost nothing and come many at a time.
  static constexpr std::size_t chunk(ElementPlace*) { return 1024; }
  static constexpr std::size_t chunk(StreamedElement*) { return 1; }

  Pool<ElementPlace>& pool_of(ElementPlace*) { return places_; }
  Pool<StreamedElement>& pool_of(StreamedElement*) { return elements_; }

  // A new pass over an input that stands where the pass starts.
  void begin() {
    write_input_state(start_);
    given_ = 0;
    filled_ = input_ended_ = false;
    places_.size = elements_.size = 0;
    stream_ = seed_.stream(epoch_);
  }

  // In chunks: a buffer larger than the dataset takes no more memory than the dataset.
  template <class Item>
  void fill(Pool<Item>& pool) {
    while (pool.size < buffer_size_ && !input_ended_) {
      const std::size_t wanted = std::min<std::uint64_t>(chunk(static_cast<Item*>(nullptr)), buffer_size_ - pool.size);
      if (pool.items.size() < pool.size + wanted) pool.items.resize(pool.size + wanted);
      const std::size_t got = take_in(std::span(pool.items).subspan(pool.size, wanted));
      pool.size += got;
      input_ended_ = got < wanted;
    }
    filled_ = true;
  }

  // One that cannot be computed takes its place in the order like any other: orders do not depend on what fails.
  std::size_t take_in(std::span<ElementPlace> places) { return from_input(places); }
  std::size_t take_in(std::span<StreamedElement> elements) {
    try {
      return from_input(elements);
    } catch (const BrokenSource&) {
      throw;
    } catch (...) {
      elements[0].error = std::current_exception();
      return 1;
    }
  }

  std::uint64_t skip_places(std::uint64_t count) {
    std::array<ElementPlace, 256> passed;
    std::uint64_t done = 0;
    while (done < count) {
      const std::size_t asked = std::min<std::uint64_t>(passed.size(), count - done);
      const std::size_t got = pull(std::span(passed).first(asked));
      done += got;
      if (got < asked) break;
    }
    return done;
  }

  // What lies in a place of the buffer when elements are passed by: one that it holds now, or one of the input's next.
  struct Held {
    bool is_new;
    std::uint64_t number;  // in the buffer, or among the input's next
  };
  struct Outlook {
    std::vector<Held> buffer;
    std::uint64_t passed = 0, taken = 0;  // of its own elements, and of the input's
  };

  // What would be in the buffer `count` elements on, if the input has `there` more.
  Outlook look_ahead(std::uint64_t count, std::uint64_t there) {
    Outlook outlook;
    std::vector<Held>& buffer = outlook.buffer;
    for (std::uint64_t i = 0; i < elements_.size; ++i) buffer.push_back({false, i});
    if (!filled_) {
      while (buffer.size() < buffer_size_ && outlook.taken < there) buffer.push_back({true, outlook.taken++});
    }
    for (; outlook.passed < count && !buffer.empty(); ++outlook.passed) {
      Held& chosen = buffer[draw(buffer.size())];
      if (!input_ended_ && outlook.taken < there) {
        chosen = {true, outlook.taken++};
      } else {
        std::swap(chosen, buffer.back());
        buffer.pop_back();
      }
    }
    return outlook;
  }

  // Numbers are drawn first; of what is passed by nothing is computed.
  std::uint64_t skip_elements(std::uint64_t count) {
    const std::uint64_t first = given_;
    std::string before;
    write_input_state(before);
    // That the input goes on is believed until it does not.
    Outlook outlook = look_ahead(count, UINT64_MAX);
    std::uint64_t there = 0;
    if (!read_held(outlook, there)) {
      restore_input(before);
      given_ = first;
      draw_block();
      outlook = look_ahead(count, there);
      read_held(outlook, there);
      input_ended_ = true;
    }
    filled_ = true;
    return outlook.passed;
  }

  // Fills the buffer as foreseen and leaves the input where it then stands; false, with the number of elements that
  // there are, when it ends before.
  bool read_held(const Outlook& outlook, std::uint64_t& there) {
    std::vector<StreamedElement> buffer(outlook.buffer.size());
    std::vector<std::pair<std::uint64_t, std::size_t>> wanted;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      if (outlook.buffer[i].is_new) wanted.emplace_back(outlook.buffer[i].number, i);
    }
    std::sort(wanted.begin(), wanted.end());
    std::uint64_t at = 0;
    for (const auto& [number, place] : wanted) {
      at += input_->skip(number - at);
      if (at < number || take_in(std::span(buffer).subspan(place, 1)) == 0) return there = at, false;
      ++at;
    }
    at += input_->skip(outlook.taken - at);
    if (at < outlook.taken) return there = at, false;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      const Held& held = outlook.buffer[i];
      if (!held.is_new) buffer[i] = std::move(elements_.items[static_cast<std::size_t>(held.number)]);
    }
    elements_.size = buffer.size();
    elements_.items = std::move(buffer);
    return true;
  }

  std::size_t draw(std::size_t choices) {
    if (given_ % 2 == 0) draw_block();
    const std::size_t half = given_++ % 2 * 2;
    const std::uint64_t word = (std::uint64_t{block_[half]} << 32) | block_[half + 1];
    return static_cast<std::size_t>((static_cast<unsigned __int128>(word) * choices) >> 64);
  }

  void draw_block() { block_ = stream_.block(given_ / 2); }

  std::uint64_t buffer_size_;
  ShuffleSeed seed_;
  std::uint64_t epoch_ = 0;
  std::string start_;  // the input's state at the start of the pass
  std::uint64_t given_ = 0;
  bool filled_ = false, input_ended_ = false;
  Pool<ElementPlace> places_;
  Pool<StreamedElement> elements_;
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
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<ShuffleIterator>(input().make_iterator(), static_cast<std::uint64_t>(buffer_size_),
                                             next_run());
  }
  bool is_indexed() const override {
    return input().stage().is_indexed() && cardinality() >= 0 && buffer_size_ >= cardinality();
  }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<PermutedElements>(input().stage().indexed(), next_run());
  }

 private:
  ShuffleSeed next_run() const { return {seed_, runs_.fetch_add(1), reshuffle_}; }

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
