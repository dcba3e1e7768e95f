#include "cohort/datasets/transforms/map.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "cohort/core/thread_pool.h"
#include "cohort/data/stage_counters.h"
#include "cohort/datasets/transforms/autotune.h"
#include "cohort/datasets/transforms/fetch_row.h"
#include "cohort/datasets/transforms/reader_threads.h"
#include "cohort/datasets/transforms/spec_attributes.h"
#include "cohort/datasets/transforms/traced_function.h"
#include "cohort/datasets/transforms/workspaces.h"
#include "cohort/graph/planned_executable.h"

namespace cohort::datasets {
namespace {

constexpr const char* kMap = "Dataset.map";

constexpr const char* kHostFunction = "host_function";

// What is computed of each element: a traced function or a registered one.
class MappedFunction {
 public:
  MappedFunction(const ElementSpec& element, const Attributes& attributes) {
    if (attributes.has(kHostFunction)) {
      host_ = HostFunction::registered(attributes.get<std::string>(kHostFunction), element_spec_of(kMap, attributes));
    } else {
      traced_ = std::make_unique<TracedFunction>(kMap, element, attributes);
    }
  }

  const ElementSpec& result_spec() const { return traced_ ? traced_->result_spec() : host_->result_spec(); }
  void run(const Tensors& arguments, Tensors& results, const ElementKey& key) {
    traced_ ? traced_->run(arguments, results, key) : host_->run(arguments, results, key);
  }
  // A traced function made ready for elements of these shapes; nullptr for a registered one.
  std::shared_ptr<Executable> ready_for(const Tensors& arguments) {
    return traced_ ? traced_->ready_for(arguments) : nullptr;
  }
  // What a traced function draws from.
  RandomState random_at(const ElementKey& key) const { return traced_->random_at(key); }

 private:
  std::unique_ptr<TracedFunction> traced_;
  std::optional<HostFunction> host_;
};

// What a thread needs to compute elements one after the other; used again and again.
class MappingThread {
 public:
  explicit MappingThread(MappedFunction& function) : function_(function) {}

  // Where the next element's arguments are put.
  Tensors& arguments() { return arguments_; }
  // Writes the results for elements of `input` into rows of memory.
  void run(const IndexedElements& input, std::span<const ElementPlace> places, std::span<const RowMemory> leaves,
           const Specs& specs) {
    for (std::size_t first = 0, count; first < places.size(); first += count) {
      count = std::min(places.size() - first, resolved_.size());
      const std::span resolved = std::span(resolved_).first(count);
      std::copy_n(places.begin() + static_cast<std::ptrdiff_t>(first), count, resolved.begin());
      const IndexedElements& from = input.resolve(resolved);
      const bool in_columns = from.columns() && is_ready_for_columns(from, resolved[0], specs);
      for (std::size_t i = 0; i < count; ++i) {
        in_columns ? point_at(*from.columns(), resolved, i) : from.read(resolved[i], arguments_);
        run_one(from.key(resolved[i]), leaves, specs, first + i, in_columns);
      }
    }
  }
  // Takes memory for elements like those that another one has computed.
  void make_room_like(const MappingThread& other) {
    arguments_ = room_for(other.arguments_);
    results_ = room_for(other.results_);
    specs_ = other.specs_;
    executable_ = other.executable_;
    is_prepared_ = other.is_prepared_;
    planned_ = other.planned_;
    if (other.frame_) frame_ = planned_->make_frame();
    row_bytes_ = other.row_bytes_;
    pointers_.reserve(other.pointers_.capacity());
  }
  // Lets several run at once without asking for memory.
  void reserve(std::size_t runs) {
    if (executable_ && !frame_) executable_->reserve(runs);
  }

 private:
  // The elements are rows of columns and results can be written in place: then pointers to both are all it takes.
  bool is_ready_for_columns(const IndexedElements& from, ElementPlace place, const Specs& specs) {
    from.read(place, arguments_);
    if (!is_ready()) prepare(specs);
    row_bytes_.clear();
    for (const Tensor& argument : arguments_) {
      const std::size_t width = argument.dtype() == DType::String ? sizeof(std::string) : size_of(argument.dtype());
      row_bytes_.push_back(static_cast<std::size_t>(argument.num_elements()) * width);
    }
    // They have one shape, so that a frame of its own serves all: nobody else is asked for one with every element.
    if (planned_ && !frame_) frame_ = planned_->make_frame();
    return planned_ != nullptr;
  }
  void point_at(const Tensors& columns, std::span<const ElementPlace> places, std::size_t i) {
    const std::size_t later = std::min(i + static_cast<std::size_t>(kRowsAhead), places.size() - 1);
    pointers_.clear();
    for (std::size_t leaf = 0; leaf < columns.size(); ++leaf) {
      auto* first = static_cast<char*>(columns[leaf].raw());
      fetch_row(first + places[later].position * row_bytes_[leaf], static_cast<std::int64_t>(row_bytes_[leaf]));
      pointers_.push_back(first + places[i].position * row_bytes_[leaf]);
    }
  }
  // `pointed`: pointers_ are those of the arguments already.
  void run_one(const ElementKey& key, std::span<const RowMemory> leaves, const Specs& specs, std::size_t row,
               bool pointed) {
    if (!pointed && !is_ready()) prepare(specs);
    if (!planned_) {
      function_.run(arguments_, results_, key);
      for (std::size_t i = 0; i < leaves.size(); ++i) write_row(results_[i], specs[i], leaves[i], row);
      return;
    }
    if (!pointed) {
      pointers_.clear();
      for (const Tensor& argument : arguments_) pointers_.push_back(argument.raw());
    }
    for (const RowMemory& leaf : leaves) pointers_.push_back(leaf.first + row * leaf.row_bytes);
    const RandomState random = function_.random_at(key);
    void* const* results = pointers_.data() + arguments_.size();
    frame_ ? planned_->execute(*frame_, pointers_.data(), results, &random)
           : planned_->run_raw(pointers_.data(), results, &random);
  }
  bool is_ready() const {
    return is_prepared_ && std::equal(arguments_.begin(), arguments_.end(), specs_.begin(), specs_.end(),
                                      [](const Tensor& leaf, const TensorSpec& spec) { return leaf.spec() == spec; });
  }
  void prepare(const Specs& results) {
    specs_.clear();
    for (const Tensor& argument : arguments_) specs_.push_back(argument.spec());
    executable_ = function_.ready_for(arguments_);
    is_prepared_ = true;
    frame_ = nullptr;
    planned_ = dynamic_cast<PlannedExecutable*>(executable_.get());
    for (std::size_t i = 0; planned_ && i < results.size(); ++i) {
      const Graph& graph = planned_->graph();
      if (graph.spec(graph.outputs[i]) != results[i]) planned_ = nullptr;
    }
  }

  MappedFunction& function_;
  Tensors arguments_, results_;
  Specs specs_;  // of the arguments that the executable is ready for
  std::shared_ptr<Executable> executable_;
  bool is_prepared_ = false;
  PlannedExecutable* planned_ = nullptr;             // the same, where its results can be written in place
  std::unique_ptr<PlannedExecutable::Frame> frame_;  // for rows of columns
  std::array<ElementPlace, 64> resolved_;            // of the elements at hand
  std::vector<std::size_t> row_bytes_;               // of the columns they are rows of
  std::vector<void*> pointers_;
};

// Elements that are computed where they are read.
class MappedElements : public IndexedElements {
 public:
  // `parallel` as IndexedElements::parallel_reads().
  MappedElements(std::unique_ptr<IndexedElements> input, std::shared_ptr<MappedFunction> function, std::size_t parallel)
      : input_(std::move(input)),
        function_(std::move(function)),
        parallel_(parallel),
        threads_([this] { return std::make_unique<MappingThread>(*function_); }, input_->blocks()) {}

  std::uint64_t count() const override { return input_->count(); }
  ElementKey key(ElementPlace place) const override { return input_->resolve({&place, 1}).key(place); }
  void read(ElementPlace place, Tensors& element) const override {
    const Workspaces<MappingThread>::Lease thread(threads_);
    const IndexedElements& from = input_->resolve({&place, 1});
    from.read(place, thread->arguments());
    function_->run(thread->arguments(), element, from.key(place));
  }
  // Results go straight to their rows where the shapes are known.
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves,
                 const Specs& specs) const override {
    const Workspaces<MappingThread>::Lease thread(threads_);
    thread->run(*input_, places, leaves, specs);
  }
  bool blocks() const override { return input_->blocks(); }
  std::size_t parallel_reads() const override { return parallel_; }
  void save_to(StateWriter& state) const override { input_->save_to(state); }
  void restore_from(StateReader& state) override { input_->restore_from(state); }

 private:
  std::unique_ptr<IndexedElements> input_;
  std::shared_ptr<MappedFunction> function_;
  std::size_t parallel_;
  mutable Workspaces<MappingThread> threads_;
};

// How many elements are computed ahead.
struct MapWidth {
  std::size_t first, most;
};

// Computes elements ahead, as tasks of the pool, in a ring of slots, and gives them out in order, or else as they are
// done. Arguments that have to be waited for are read by reader threads before. A ring of one slot is no ring: the
// element is computed by the thread that asks for it.
class MapIterator : public TransformIterator {
 public:
  MapIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<MappedFunction> function, MapWidth width,
              bool in_order)
      : TransformIterator(std::move(input)),
        function_(std::move(function)),
        blocks_(input_->indexed() && input_->indexed()->blocks()),
        width_(width.first, width.most),
        in_order_(in_order),
        ring_(width.most) {
    slots_.reserve(ring_.size());
    free_.reserve(ring_.size());
    add_slots();
    begin_anew();
  }
  ~MapIterator() override { drop_all(); }

  bool next(Tensors& element) override {
    fill();
    if (given_ == pulled_) return false;
    Slot& slot = in_order_ ? slot_at(given_) : first_done();
    finish(slot);
    give(slot);
    key_ = slot.key;
    if (slot.error) std::rethrow_exception(std::exchange(slot.error, nullptr));
    if (!has_room_) make_room(slot);
    element.swap(slot.results);
    if (slot.results.empty()) slot.results = room_for(element);
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    for (; passed < count && given_ < pulled_; ++passed) {
      Slot& slot = slot_at(given_);
      drop(slot);
      give(slot);
    }
    // Between elements that had been given out before their turn.
    while (passed < count && !early_.empty() && input_->skip(1) == 1) {
      if (!was_given(pulled_)) ++passed;
      given_ = ++pulled_;
    }
    if (passed < count && !ended_) {
      const std::uint64_t further = input_->skip(count - passed);
      passed += further;
      given_ = pulled_ += further;
      begin_anew();
    }
    return passed;
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override {
    drop_all();
    early_.clear();
    ++epoch_;
    given_ = pulled_ = 0;
    input_->rewind();
    begin_anew();
  }
  void save_to(StateWriter& state) const override {
    const Start& start = given_ < newer_.at ? older_ : newer_;
    std::uint64_t early = early_.size();
    for (std::uint64_t i = given_; i < pulled_; ++i) early += slot_at(i).given;
    state.stage('M');
    state.number(epoch_);
    state.number(given_);
    state.number(early);
    for (std::uint64_t i = given_; i < pulled_; ++i) {
      if (slot_at(i).given) state.number(i);
    }
    for (const std::uint64_t number : early_) state.number(number);
    state.number(given_ - start.at);
    state.raw(start.state);
  }
  void restore_from(StateReader& state) override {
    state.stage('M');
    drop_all();
    epoch_ = state.number();
    given_ = pulled_ = state.number();
    early_.clear();
    // The reader ends with the state, whatever number this is.
    for (std::uint64_t left = state.number(); left > 0; --left) early_.push_back(state.number());
    const std::uint64_t behind = state.number();
    input_->restore_from(state);
    // What had been given out is passed by unmapped.
    if (behind > given_ || input_->skip(behind) < behind) {
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"position", given_}});
    }
    begin_anew();
  }

 private:
  struct Slot : BackgroundTask, ReaderTask {
    explicit Slot(MapIterator* owner) : map(owner) {}

    MapIterator* map;
    bool submitted = false;
    bool given = false;              // out, before its turn
    std::atomic<bool> begun{false};  // a thread is about it
    ElementPlace place;              // of the argument, where the input gives places
    Tensors arguments, results;
    ElementKey key;
    std::exception_ptr error;

    // The argument is there: the pool goes on with it.
    void read() noexcept override {
      begun.store(true, std::memory_order_relaxed);
      map->read_argument(*this);
      begun.store(false, std::memory_order_relaxed);
      ThreadPool::instance().submit(*this);
    }
    void run() noexcept override {
      begun.store(true, std::memory_order_relaxed);
      map->compute(*this);
    }
  };
  // Where the input stood before element number `at` was pulled.
  struct Start {
    std::uint64_t at = 0;
    std::string state;
  };

  Slot& slot_at(std::uint64_t number) const { return *ring_[static_cast<std::size_t>(number % ring_.size())]; }
  // One for the element that is pulled next.
  Slot& take_slot() { return *(ring_[static_cast<std::size_t>(pulled_ % ring_.size())] = free_.back()); }
  // It holds that element from now on.
  void keep_slot() {
    free_.pop_back();
    ++pulled_;
  }
  void give_back_first() {
    Slot& slot = slot_at(given_++);
    slot.given = false;
    free_.push_back(&slot);
  }
  // As many as the width says.
  void add_slots() {
    while (slots_.size() < width_.now()) {
      slots_.push_back(std::make_unique<Slot>(this));
      free_.push_back(slots_.back().get());
    }
    if (StageCounters* counters = StageCounters::current()) counters->set_parallelism(width_.now());
  }
  bool is_done(const Slot& slot) const { return (!blocks_ || slot.is_read()) && slot.is_done(); }

  // One that can be given at once; otherwise one that can be computed here; otherwise the first that others get done.
  Slot& first_done() const {
    constexpr std::chrono::microseconds kBetweenLooks{20};
    for (;; std::this_thread::sleep_for(kBetweenLooks)) {
      Slot* open = nullptr;
      for (std::uint64_t i = given_; i < pulled_; ++i) {
        Slot& slot = slot_at(i);
        if (slot.given) continue;
        if (!slot.submitted || is_done(slot)) return slot;
        if (!open && !slot.begun.load(std::memory_order_relaxed)) open = &slot;
      }
      if (open) return *open;
    }
  }
  // Those that are all given out up to some element leave the ring.
  void give(Slot& slot) {
    slot.given = true;
    while (given_ < pulled_ && slot_at(given_).given) give_back_first();
  }
  // Whether this element was given out before its turn, as a restored position says.
  bool was_given(std::uint64_t number) {
    const auto found = std::find(early_.begin(), early_.end(), number);
    if (found == early_.end()) return false;
    early_.erase(found);
    return true;
  }

  // Nothing is under way and the input stands behind what was given out.
  void begin_anew() {
    ended_ = false;
    newer_.at = older_.at = pulled_;
    write_input_state(newer_.state);
    write_input_state(older_.state);
  }

  // The input's state is written once a round: positions are at most two rounds from one of the two that are kept.
  void mark_start() {
    if (pulled_ - newer_.at < ring_.size()) return;
    std::swap(older_, newer_);
    newer_.at = pulled_;
    write_input_state(newer_.state);
  }

  void fill() {
    // The first one goes alone: the others get memory like its own.
    while (!ended_ && pulled_ - given_ < (has_room_ ? width_.now() : 1)) {
      mark_start();
      if (!early_.empty() && was_given(pulled_)) {
        pass_given();
        continue;
      }
      Slot& slot = take_slot();
      if (!pull(slot)) {
        ended_ = true;
        break;
      }
      keep_slot();
      if (!slot.error && ring_.size() > 1) submit(slot);
    }
  }

  void pass_given() {
    ended_ = input_->skip(1) == 0;
    if (ended_) return;
    Slot& slot = take_slot();
    keep_slot();
    slot.error = nullptr;
    give(slot);
  }

  // An error of the input takes the place of the element it came for, behind those that came before it.
  bool pull(Slot& slot) {
    slot.error = nullptr;
    try {
      if (input_->indexed()) return input_->next_places({&slot.place, 1}) == 1;
      if (!input_->next(slot.arguments)) return false;
      const std::optional<ElementKey> key = input_->key();
      // Where the input does not say, an element is known by its number here.
      slot.key = key ? *key : ElementKey{epoch_, pulled_};
    } catch (...) {
      slot.error = std::current_exception();
    }
    return true;
  }

  void submit(Slot& slot) {
    slot.submitted = true;
    slot.begun.store(false, std::memory_order_relaxed);
    blocks_ ? ReaderThreads::instance().submit(slot) : ThreadPool::instance().submit(slot);
  }
  void read_argument(Slot& slot) noexcept {
    try {
      const IndexedElements& from = input_->indexed()->resolve({&slot.place, 1});
      slot.key = from.key(slot.place);
      from.read(slot.place, slot.arguments);
    } catch (...) {
      slot.error = std::current_exception();
    }
  }
  void compute(Slot& slot) noexcept {
    if (input_->indexed() && !(blocks_ && slot.submitted)) read_argument(slot);
    if (slot.error) return;
    try {
      function_->run(slot.arguments, slot.results, slot.key);
    } catch (...) {
      slot.error = std::current_exception();
    }
  }

  void finish(Slot& slot) {
    if (!slot.submitted) {
      if (!slot.error) compute(slot);
      return;
    }
    const bool waited = !is_done(slot);
    if (!blocks_ && slot.begun.load(std::memory_order_relaxed)) help_until_done(slot);
    if (blocks_) ReaderThreads::instance().finish(slot);
    ThreadPool::instance().finish(slot);
    slot.submitted = false;
    // One that the consumer waits for is worth more under way.
    if (waited && has_room_ && !slot.error && width_.widen(slot_bytes_)) widen_like(slot);
  }
  // While another thread is about it, computes elements that nobody has begun: the last ones, for the pool takes the
  // first.
  void help_until_done(const Slot& slot) {
    for (std::uint64_t i = pulled_; i > given_ && !is_done(slot); --i) {
      Slot& other = slot_at(i - 1);
      if (other.submitted && !other.begun.load(std::memory_order_relaxed)) ThreadPool::instance().finish(other);
    }
  }
  void widen_like(const Slot& done) {
    const std::size_t before = slots_.size();
    add_slots();
    for (std::size_t i = before; i < slots_.size(); ++i) make_room_like(done, *slots_[i]);
  }
  void drop(Slot& slot) {
    if (slot.submitted && (!blocks_ || ReaderThreads::instance().withdraw(slot))) ThreadPool::instance().withdraw(slot);
    slot.submitted = false;
    slot.error = nullptr;
  }
  void drop_all() {
    while (given_ < pulled_) {
      drop(slot_at(given_));
      give_back_first();
    }
  }

  // How many threads take part is a matter of timing, so every slot has its memory from the first element on.
  void make_room(const Slot& first) {
    has_room_ = true;
    if (ring_.size() == 1) return;
    const auto threads = static_cast<std::size_t>(ThreadPool::instance().threads());
    if (const auto executable = function_->ready_for(first.arguments)) {
      executable->reserve(std::min(threads, ring_.size()) + 1);
    }
    for (const Tensors* leaves : {&first.arguments, &first.results}) {
      for (const Tensor& leaf : *leaves) slot_bytes_ += leaf.bytes();
    }
    for (const auto& slot : slots_) {
      if (slot.get() != &first) make_room_like(first, *slot);
    }
  }
  static void make_room_like(const Slot& first, Slot& slot) {
    slot.arguments = room_for(first.arguments);
    slot.results = room_for(first.results);
  }

  std::shared_ptr<MappedFunction> function_;
  const bool blocks_;  // reading the arguments does
  AutotunedWidth width_;
  bool in_order_;
  std::vector<std::unique_ptr<Slot>> slots_;  // as many as the width says
  std::vector<Slot*> free_;
  std::vector<Slot*> ring_;  // which one an element has, by its number
  std::uint64_t slot_bytes_ = 0;
  std::vector<std::uint64_t> early_;      // elements to come that were given out before the position was saved
  std::uint64_t given_ = 0, pulled_ = 0;  // elements of this pass
  bool ended_ = false, has_room_ = false;
  Start older_, newer_;
  std::uint64_t epoch_ = 0;
  std::optional<ElementKey> key_;
};

class MapStage : public TransformStage {
 public:
  MapStage(const std::vector<Dataset>& inputs, const Attributes& attributes) : TransformStage(kMap, inputs) {
    const auto calls = attributes.get<std::int64_t>("num_parallel_calls", 0);
    if (calls < kAutotune || calls > kMaxCalls) {
      throw invalid_argument(kMap, "the number of parallel calls must lie in [0, 1024], or be kAutotune",
                             {{"num_parallel_calls", calls}});
    }
    calls_ = calls == kAutotune ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(calls, 1));
    in_order_ = attributes.get<bool>("deterministic", true);
    function_ = std::make_shared<MappedFunction>(input().element_spec(), attributes);
  }
  const ElementSpec& element_spec() const override { return function_->result_spec(); }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    auto from = input().make_iterator();
    const bool blocks = from->indexed() && from->indexed()->blocks();
    return std::make_unique<MapIterator>(std::move(from), function_, width(blocks), in_order_);
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<MappedElements>(input().stage().indexed(), function_, calls_);
  }

 private:
  static constexpr std::int64_t kMaxCalls = 1024;

  // Where it is chosen: two for each thread, one that it computes and one that it finds next.
  MapWidth width(bool blocks) const {
    constexpr std::size_t kFirst = 2;
    if (calls_ > 0) return {calls_, calls_};
    const std::size_t readers = blocks ? ReaderThreads::instance().most() : 0;
    const std::size_t most = 2 * static_cast<std::size_t>(ThreadPool::instance().threads()) + readers;
    return {std::min(most, kFirst), most};
  }

  bool in_order_ = true;
  std::size_t calls_ = 1;  // 0: as many as there is use for
  std::shared_ptr<MappedFunction> function_;
};

COHORT_DATASET("map", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<MapStage>(inputs, attributes);
});

Dataset make_map(const Dataset& input, Attributes attributes, const MapOptions& options) {
  attributes.set("num_parallel_calls", options.num_parallel_calls);
  attributes.set("deterministic", options.deterministic);
  return Dataset::make("map", {input}, std::move(attributes));
}

}  // namespace

DatasetTransform map(ElementFunction f, MapOptions options) {
  return [f = std::move(f), options](const Dataset& input) {
    return make_map(input, trace_function(kMap, input.element_spec(), f), options);
  };
}

DatasetTransform map(HostFunction f, MapOptions options) {
  Attributes attributes{{kHostFunction, f.name()}};
  add_element_spec(f.result_spec(), attributes);
  return [attributes, options](const Dataset& input) { return make_map(input, attributes, options); };
}

}  // namespace cohort::datasets
