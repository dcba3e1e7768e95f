#include "cohort/datasets/transforms/interleave.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "cohort/core/random.h"
#include "cohort/data/broken_source.h"
#include "cohort/data/stage_counters.h"
#include "cohort/datasets/transforms/autotune.h"
#include "cohort/datasets/transforms/flat_map.h"
#include "cohort/datasets/transforms/reader_threads.h"
#include "cohort/datasets/transforms/selection.h"
#include "cohort/datasets/transforms/spec_attributes.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

constexpr const char* kFlatMap = "Dataset.flat_map";
constexpr const char* kInterleave = "Dataset.interleave";
constexpr std::int64_t kMostDatasets = 4096;

// What a stage does with the datasets that its function makes.
struct Interleaving {
  const char* who;
  DatasetFunction function;
  ElementSpec argument_spec, element_spec;
  std::size_t cycle_length = 1;
  std::uint64_t block_length = 1;
  std::size_t first_ahead = 0;  // datasets that are read ahead at a time, at first
  std::size_t most_ahead = 0;   // and at most
  bool deterministic = true;
};

// What an element is known by: its dataset and its own key there.
ElementKey key_below(const ElementKey& parent, const ElementKey& inner) {
  return {parent.pass, hash_combine(hash_combine(parent.number, inner.number), inner.pass)};
}

// An error that ends one dataset of many is, for whoever walks them all, about one element.
std::exception_ptr as_error_of_one(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const BrokenSource& broken) {
    return std::make_exception_ptr(Error(broken));
  } catch (...) {
    return error;
  }
}

// One of the datasets walked at a time. Datasets are mostly files: a reader thread reads it ahead; whoever walks
// touches it only when no thread does.
class OpenDataset : public ReaderTask {
 public:
  explicit OpenDataset(const Interleaving* stage) : stage_(stage) {}

  // Whether it has a dataset, or an element of which one is to be made.
  bool is_open() const { return open_; }
  // The number of that element.
  std::uint64_t ordinal() const { return ordinal_; }
  // Where the input stood before that element.
  const std::string& before() const { return before_; }
  std::string& before() { return before_; }
  // Where the element is put.
  Tensors& argument() { return argument_; }

  // Begins with the element in argument(), or with the error that came in its place.
  void begin(std::uint64_t ordinal, const ElementKey& parent, std::exception_ptr error) {
    ordinal_ = ordinal;
    parent_ = parent;
    failed_ = std::move(error);
    open_ = true;
    ended_ = false;
    taken_ = behind_ = 0;
    filled_ = next_ = 0;
    state_.clear();
  }
  void close() {
    withdraw();
    inner_.reset();
    failed_ = nullptr;
    open_ = false;
  }

  // Elements that are read ahead at most.
  static constexpr std::size_t kMostAhead = 64;
  // Lets a reader thread read elements ahead.
  void submit() {
    write_state();
    behind_ = 0;
    submitted_ = true;
    ReaderThreads::instance().submit(*this);
  }
  bool is_submitted() const { return submitted_; }
  // Whether reading ahead would find something.
  bool can_read() const { return open_ && !submitted_ && next_ == filled_ && !ended_; }
  // Whether next() need not wait.
  bool is_ready() const { return open_ && (submitted_ ? is_read() : next_ < filled_ || ended_); }
  // Whether next() waits for the thread that reads ahead.
  bool is_awaited() const { return submitted_ && !is_read(); }

  // Fills `element`; false at its end. After an error it stands behind that element.
  bool next(Tensors& element) {
    if (std::exchange(submitted_, false)) ReaderThreads::instance().finish(*this);
    if (next_ == filled_) {
      if (ended_) return false;
      if (stage_->most_ahead > 0) {
        write_state();
        behind_ = 0;
      }
      read_up_to(1, &element);
      if (filled_ == 0) {
        element.swap(ahead_[0].leaves);
        return false;
      }
    }
    StreamedElement& item = ahead_[next_++];
    const std::uint64_t number = taken_++;
    ++behind_;
    if (item.error) std::rethrow_exception(std::exchange(item.error, nullptr));
    key_ = key_below(parent_, item.key.value_or(ElementKey{0, number}));
    element.swap(item.leaves);
    return true;
  }
  // Goes past elements; how many there were.
  std::uint64_t skip(std::uint64_t count) {
    withdraw();
    const std::uint64_t ready = std::min<std::uint64_t>(count, filled_ - next_);
    for (std::uint64_t i = 0; i < ready; ++i) ahead_[next_++].error = nullptr;
    behind_ += ready;
    std::uint64_t passed = ready;
    if (passed < count && !ended_) {
      passed += skip_unread(count - passed);
      behind_ = 0;
      filled_ = next_ = 0;
    }
    taken_ += passed;
    return passed;
  }
  // What the element given last is known by.
  const ElementKey& key() const { return key_; }

  // Where whoever walks it stands: behind what was taken, whatever was read ahead.
  void save_to(StateWriter& state) const {
    const bool is_behind = submitted_ || next_ < filled_;
    state.number(taken_);
    state.number(!is_behind && ended_);
    state.number(is_behind ? behind_ : 0);
    state.bytes(is_behind ? state_ : ended_ ? std::string() : live_state());
  }
  // Passes over what save_to() wrote, copying it.
  static void copy_state(StateReader& from, StateWriter& to) {
    for (int number = 0; number < 3; ++number) to.number(from.number());
    to.bytes(from.bytes());
  }
  // The reverse of save_to(), on one that has just begun.
  void restore_from(StateReader& state) {
    taken_ = state.number();
    ended_ = state.number() != 0;
    const std::uint64_t behind = state.number();
    const std::string_view position = state.bytes();
    // One at its first element is made when it is read.
    if (ended_ || (position.empty() && behind == 0)) return;
    if (failed_) std::rethrow_exception(failed_);
    make();
    if (!position.empty()) {
      StateReader reader(position);
      inner_->restore_from(reader);
      reader.finish();
    }
    if (inner_->skip(behind) < behind) {
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"position", behind}});
    }
  }

  void read() noexcept override {
    const auto begin = std::chrono::steady_clock::now();
    read_up_to(chunk_, nullptr);
    const auto took = std::chrono::steady_clock::now() - begin;
    if (!ended_ && chunk_ < kMostAhead && took < kWorthATask) chunk_ *= 2;
  }

 private:
  static constexpr std::uint64_t kDifferentPasses = 1024;
  // A task that takes less than this is not worth its way to another thread.
  static constexpr std::chrono::microseconds kWorthATask{50};

  void make() {
    const Dataset dataset = stage_->function(stage_->argument_spec.with_leaves(argument_), stage_->who);
    if (!fits_spec(stage_->element_spec, dataset.element_spec())) {
      throw invalid_argument(
          stage_->who, "datasets of elements of one structure, types and shapes that fit are expected",
          {{"expected", to_string(stage_->element_spec)}, {"dataset", to_string(dataset.element_spec())}},
          "Give element_spec, with kUnknown where their sizes differ.");
    }
    inner_ = dataset.make_iterator();
    // What draws and shuffles inside does so anew in every pass.
    for (std::uint64_t pass = 0; pass < parent_.pass % kDifferentPasses; ++pass) inner_->rewind();
  }

  // Reads up to `count` elements; the first into `first`'s memory where there is one. Throws nothing: errors take the
  // places of their elements, one that ends the dataset the last place.
  void read_up_to(std::size_t count, Tensors* first) noexcept {
    filled_ = next_ = 0;
    if (ahead_.size() < count) ahead_.resize(count);
    if (first) ahead_[0].leaves.swap(*first);
    while (filled_ < count && !ended_) read_one(ahead_[filled_]);
  }
  void read_one(StreamedElement& item) noexcept {
    item.error = nullptr;
    try {
      if (failed_) std::rethrow_exception(failed_);
      if (!inner_) {
        failed_ = open_error();
        if (failed_) std::rethrow_exception(failed_);
      }
      if (!inner_->next(item.leaves)) {
        ended_ = true;
        return;
      }
      item.key = inner_->key();
    } catch (const BrokenSource&) {
      ended_ = true;
      item.error = as_error_of_one(std::current_exception());
    } catch (...) {
      ended_ = static_cast<bool>(failed_);
      item.error = std::current_exception();
    }
    ++filled_;
  }
  std::exception_ptr open_error() {
    try {
      make();
      return nullptr;
    } catch (...) {
      return as_error_of_one(std::current_exception());
    }
  }

  // Nothing is read ahead. An error that ends the dataset counts as one element.
  std::uint64_t skip_unread(std::uint64_t count) {
    if (!failed_ && !inner_) failed_ = open_error();
    if (failed_) {
      ended_ = true;
      return 1;
    }
    const std::string start = live_state();
    try {
      const std::uint64_t passed = inner_->skip(count);
      ended_ = passed < count;
      return passed;
    } catch (const BrokenSource&) {
      // How far it came it cannot say.
      StateReader reader(start);
      inner_->restore_from(reader);
      return skip_to_the_break(count);
    }
  }
  std::uint64_t skip_to_the_break(std::uint64_t count) {
    std::uint64_t passed = 0;
    try {
      while (passed < count && inner_->skip(1) == 1) ++passed;
      return passed;
    } catch (const BrokenSource&) {
      ended_ = true;
      return passed + 1;
    }
  }

  void withdraw() {
    if (std::exchange(submitted_, false) && !ReaderThreads::instance().withdraw(*this)) filled_ = next_ = 0;
  }
  void write_state() {
    state_.clear();
    if (!inner_) return;
    StateWriter writer(state_);
    inner_->save_to(writer);
  }
  std::string live_state() const {
    std::string state;
    if (!inner_) return state;
    StateWriter writer(state);
    inner_->save_to(writer);
    return state;
  }

  const Interleaving* stage_;
  bool open_ = false, submitted_ = false;
  bool ended_ = false;  // nothing follows what is ahead
  std::uint64_t ordinal_ = 0;
  ElementKey parent_, key_;
  std::string before_;
  Tensors argument_;
  std::exception_ptr failed_;  // in place of a dataset
  std::unique_ptr<DatasetIterator> inner_;
  std::vector<StreamedElement> ahead_;
  std::size_t filled_ = 0, next_ = 0;
  std::size_t chunk_ = 1;     // elements read ahead by a task
  std::string state_;         // of the dataset before what is ahead; empty: before its first element
  std::uint64_t behind_ = 0;  // elements taken since
  std::uint64_t taken_ = 0;
};

// Walks in turn the datasets in a cycle of places. A place that is found empty takes the input's next element, and one
// whose dataset is found at its end becomes empty and loses its turn: so elements can be dealt out ahead, to empty
// places in the order in which their turns will come.
class InterleaveIterator : public TransformIterator {
 public:
  InterleaveIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<const Interleaving> stage)
      : TransformIterator(std::move(input)), stage_(std::move(stage)), ahead_(stage_->first_ahead, stage_->most_ahead) {
    for (std::size_t i = 0; i < stage_->cycle_length; ++i) {
      places_.push_back(std::make_unique<OpenDataset>(stage_.get()));
    }
    note_parallelism();
  }
  ~InterleaveIterator() override { close_all(); }

  bool next(Tensors& element) override {
    while (OpenDataset* dataset = find_turn()) {
      const bool waited = dataset->is_awaited();
      bool found = false;
      try {
        found = dataset->next(element);
      } catch (...) {
        advance(1);
        throw;
      }
      if (!found) {
        leave(*dataset);
        continue;
      }
      key_ = dataset->key();
      if (waited) widen(element);
      advance(1);
      return true;
    }
    return false;
  }
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    while (passed < count) {
      OpenDataset* dataset = find_turn();
      if (!dataset) break;
      const std::uint64_t wanted =
          places_.size() == 1 ? count - passed : std::min(count - passed, stage_->block_length - in_block_);
      const std::uint64_t got = dataset->skip(wanted);
      passed += got;
      if (got < wanted) {
        leave(*dataset);
      } else {
        advance(got);
      }
    }
    return passed;
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override {
    close_all();
    ++pass_;
    input_->rewind();
    begin_at(0);
    turn_ = 0;
    in_block_ = 0;
  }
  void save_to(StateWriter& state) const override {
    const std::uint64_t end = visited_end_;
    const OpenDataset* oldest = nullptr;
    std::uint64_t open = 0;
    for (const auto& place : places_) {
      if (!place->is_open()) continue;
      if (!oldest || place->ordinal() < oldest->ordinal()) oldest = place.get();
      if (place->ordinal() < end) ++open;
    }
    state.stage('I');
    state.number(pass_);
    state.number(turn_);
    state.number(in_block_);
    state.number(end);
    state.number(open);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i]->is_open() || places_[i]->ordinal() >= end) continue;
      state.number(i);
      state.number(places_[i]->ordinal());
      places_[i]->save_to(state);
    }
    state.number(oldest ? oldest->ordinal() : pulled_);
    if (oldest) {
      state.raw(oldest->before());
    } else {
      input_->save_to(state);
    }
  }
  void restore_from(StateReader& state) override {
    close_all();
    state.stage('I');
    pass_ = state.number();
    const std::uint64_t turn = state.number();
    in_block_ = state.number();
    const std::uint64_t end = state.number(), open = state.number();
    check_position(turn < places_.size() && in_block_ < stage_->block_length && open <= places_.size());
    turn_ = static_cast<std::size_t>(turn);
    // What is read again of the input is known only behind what is said of the datasets.
    std::vector<Saved> saved;
    for (std::uint64_t i = 0; i < open; ++i) saved.push_back(read_saved(state));
    const std::uint64_t start = state.number();
    input_->restore_from(state);
    begin_at(start);
    std::sort(saved.begin(), saved.end(), [](const Saved& a, const Saved& b) { return a.ordinal < b.ordinal; });
    for (const Saved& each : saved) {
      check_position(each.ordinal < end && !places_[each.place]->is_open());
      pass_input_to(each.ordinal);
      check_position(pull_into(*places_[each.place]));
      StateReader reader(each.state);
      places_[each.place]->restore_from(reader);
    }
    pass_input_to(end);
    visited_end_ = end;
  }

 private:
  struct Saved {
    std::size_t place;
    std::uint64_t ordinal;
    std::string state;
  };

  static void check_position(bool holds) {
    if (!holds) throw invalid_argument("Iterator.restore", "a position inside the dataset is expected");
  }
  Saved read_saved(StateReader& state) const {
    const std::uint64_t place = state.number(), ordinal = state.number();
    check_position(place < places_.size());
    Saved saved{static_cast<std::size_t>(place), ordinal, {}};
    StateWriter writer(saved.state);
    OpenDataset::copy_state(state, writer);
    return saved;
  }

  // The input stands before this element, and all places are empty.
  void begin_at(std::uint64_t ordinal) {
    pulled_ = visited_end_ = ordinal;
    ended_ = false;
  }
  void pass_input_to(std::uint64_t ordinal) {
    check_position(ordinal >= pulled_ && input_->skip(ordinal - pulled_) == ordinal - pulled_);
    pulled_ = ordinal;
  }
  // Gives a place the input's next element; false at the end. An error of the input is one of that place, unless the
  // input cannot go on.
  bool pull_into(OpenDataset& place) {
    write_input_state(place.before());
    std::exception_ptr error;
    try {
      if (!input_->next(place.argument())) {
        ended_ = true;
        return false;
      }
    } catch (const BrokenSource&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    const std::optional<ElementKey> key = error ? std::nullopt : input_->key();
    place.begin(pulled_, key.value_or(ElementKey{pass_, pulled_}), error);
    ++pulled_;
    return true;
  }

  // The dataset whose turn it is; nullptr when all have ended.
  OpenDataset* find_turn() {
    if (in_block_ == 0) read_ahead();
    if (in_block_ == 0 && !stage_->deterministic) prefer_ready();
    for (std::size_t tried = 0; tried < places_.size(); ++tried) {
      OpenDataset& place = *places_[turn_];
      if (place.is_open() || (!ended_ && pull_into(place))) {
        visited_end_ = std::max(visited_end_, place.ordinal() + 1);
        return &place;
      }
      next_turn();
    }
    return nullptr;
  }
  void read_ahead() {
    if (ahead_.now() == 0) return;
    std::size_t under_way = 0;
    for (const auto& place : places_) under_way += place->is_submitted();
    for (std::size_t i = 0; i < places_.size() && under_way < ahead_.now(); ++i) {
      OpenDataset& place = *places_[(turn_ + i) % places_.size()];
      if (!place.is_open() && (ended_ || !pull_ahead(place))) continue;
      if (!place.can_read()) continue;
      place.submit();
      ++under_way;
    }
  }
  // The consumer has waited for an element like this one.
  void widen(const Tensors& element) {
    std::uint64_t bytes = 0;
    for (const Tensor& leaf : element) bytes += leaf.bytes();
    if (ahead_.widen(bytes * OpenDataset::kMostAhead)) note_parallelism();
  }
  void note_parallelism() const {
    StageCounters* counters = StageCounters::current();
    if (counters && ahead_.now() > 0) counters->set_parallelism(ahead_.now());
  }
  // One that cannot go on says so when its turn has come.
  bool pull_ahead(OpenDataset& place) {
    if (broken_at_ == pulled_) return false;
    try {
      return pull_into(place);
    } catch (const BrokenSource&) {
      broken_at_ = pulled_;
      return false;
    }
  }
  // Gives the turn to a place that need not be waited for; waits a little until there is one.
  void prefer_ready() {
    constexpr int kLooks = 50;
    constexpr std::chrono::microseconds kBetween{20};
    for (int look = 0; look < kLooks; ++look) {
      bool any_under_way = false;
      for (std::size_t i = 0; i < places_.size(); ++i) {
        const std::size_t at = (turn_ + i) % places_.size();
        any_under_way |= places_[at]->is_submitted();
        if (!places_[at]->is_ready()) continue;
        turn_ = at;
        return;
      }
      if (!any_under_way) return;
      std::this_thread::sleep_for(kBetween);
    }
  }
  void advance(std::uint64_t count) {
    in_block_ = (in_block_ + count) % stage_->block_length;
    if (in_block_ == 0) next_turn();
  }
  void next_turn() {
    in_block_ = 0;
    turn_ = (turn_ + 1) % places_.size();
  }
  void leave(OpenDataset& place) {
    place.close();
    next_turn();
  }
  void close_all() {
    for (const auto& place : places_) place->close();
  }

  std::shared_ptr<const Interleaving> stage_;
  AutotunedWidth ahead_;  // datasets that are read ahead at a time
  std::vector<std::unique_ptr<OpenDataset>> places_;
  std::size_t turn_ = 0;
  std::uint64_t in_block_ = 0;            // elements taken in this turn
  std::uint64_t pulled_ = 0;              // elements of the input
  std::uint64_t visited_end_ = 0;         // behind the last of them whose dataset has had a turn
  std::uint64_t broken_at_ = UINT64_MAX;  // element of the input that could not be read ahead
  std::uint64_t pass_ = 0;
  bool ended_ = false;
  std::optional<ElementKey> key_;
};

class InterleaveStage : public TransformStage {
 public:
  InterleaveStage(const char* who, const std::vector<Dataset>& inputs, const Attributes& attributes)
      : TransformStage(who, inputs) {
    const auto cycle = attributes.get<std::int64_t>("cycle_length", 1);
    const auto block = attributes.get<std::int64_t>("block_length", 1);
    const auto calls = attributes.get<std::int64_t>("num_parallel_calls", 0);
    if (cycle < 1 || cycle > kMostDatasets || block < 1) {
      throw invalid_argument(who, "a cycle_length in [1, 4096] and a block_length of at least 1 are expected",
                             {{"cycle_length", cycle}, {"block_length", block}});
    }
    if (calls < kAutotune || calls > kMostDatasets) {
      throw invalid_argument(who, "the number of parallel calls must lie in [0, 4096], or be kAutotune",
                             {{"num_parallel_calls", calls}});
    }
    // Where it is chosen, no more than can be read at a time.
    constexpr std::size_t kFirstAhead = 2;
    const auto places = static_cast<std::size_t>(cycle);
    const std::size_t most =
        calls == kAutotune ? std::min(places, ReaderThreads::instance().most()) : static_cast<std::size_t>(calls);
    stage_ = std::make_shared<const Interleaving>(
        Interleaving{.who = who,
                     .function = DatasetFunction::of(who, attributes),
                     .argument_spec = input().element_spec(),
                     .element_spec = element_spec_of(who, attributes),
                     .cycle_length = places,
                     .block_length = static_cast<std::uint64_t>(block),
                     .first_ahead = calls == kAutotune ? std::min(most, kFirstAhead) : most,
                     .most_ahead = most,
                     .deterministic = calls == 0 || attributes.get<bool>("deterministic", true)});
  }
  const ElementSpec& element_spec() const override { return stage_->element_spec; }
  std::int64_t cardinality() const override {
    const std::int64_t datasets = input().cardinality();
    return datasets == 0 || datasets == kInfiniteCardinality ? datasets : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<InterleaveIterator>(input().make_iterator(), stage_);
  }

 private:
  std::shared_ptr<const Interleaving> stage_;
};

COHORT_DATASET("flat_map", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<InterleaveStage>(kFlatMap, inputs, attributes);
});
COHORT_DATASET("interleave", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<InterleaveStage>(kInterleave, inputs, attributes);
});

// The same chain with stages of its own: walking it to look at an element is no run of those that the program walks.
Dataset made_again(const Dataset& dataset) {
  std::vector<Dataset> inputs;
  for (const Dataset& input : dataset.inputs()) inputs.push_back(made_again(input));
  return Dataset::make(dataset.kind(), std::move(inputs), dataset.attributes());
}

// What the dataset of the first element says.
ElementSpec spec_of_first(const char* who, const Dataset& input, const DatasetFunction& f) {
  Tensors leaves;
  if (!made_again(input).make_iterator()->next(leaves)) {
    throw invalid_argument(who, "an element to make a first dataset of is expected", {{"elements", 0}},
                           "Give element_spec where the input may be empty.");
  }
  return f(input.element_spec().with_leaves(leaves), who).element_spec();
}

Attributes attributes_with(const char* who, const Dataset& input, const DatasetFunction& f,
                           const std::optional<ElementSpec>& spec) {
  Attributes attributes;
  f.save_to(attributes);
  add_element_spec(spec ? *spec : spec_of_first(who, input, f), attributes);
  return attributes;
}

}  // namespace

DatasetTransform flat_map(DatasetFunction f, FlatMapOptions options) {
  return [f = std::move(f), options = std::move(options)](const Dataset& input) {
    return Dataset::make("flat_map", {input}, attributes_with(kFlatMap, input, f, options.element_spec));
  };
}

DatasetTransform interleave(DatasetFunction f, InterleaveOptions options) {
  return [f = std::move(f), options = std::move(options)](const Dataset& input) {
    Attributes attributes = attributes_with(kInterleave, input, f, options.element_spec);
    attributes.set("cycle_length", options.cycle_length);
    attributes.set("block_length", options.block_length);
    attributes.set("num_parallel_calls", options.num_parallel_calls);
    attributes.set("deterministic", options.deterministic);
    return Dataset::make("interleave", {input}, std::move(attributes));
  };
}

}  // namespace cohort::datasets
