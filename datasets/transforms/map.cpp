#include "cohort/datasets/transforms/map.h"

#include <algorithm>
#include <exception>

#include "cohort/core/random.h"
#include "cohort/core/thread_pool.h"
#include "cohort/datasets/transforms/transform.h"
#include "cohort/datasets/transforms/workspaces.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/planned_executable.h"
#include "cohort/graph/trace.h"

namespace cohort::datasets {
namespace {

constexpr const char* kMap = "Dataset.map";

// The traced function, run on the host; what an element draws depends on what it is known by alone.
class MappedFunction {
 public:
  MappedFunction(std::shared_ptr<const Graph> graph, std::uint64_t seed)
      : outputs_(graph->outputs.size()), seed_(seed), executables_(std::move(graph)) {}

  void run(const Tensors& arguments, Tensors& results, const ElementKey& key) {
    results.resize(outputs_);
    executables_.run(arguments, results, random_at(key), cpu());
  }
  // The function made ready for elements of these shapes.
  std::shared_ptr<Executable> ready_for(const Tensors& arguments) { return executables_.specialize(arguments, cpu()); }
  RandomState random_at(const ElementKey& key) const { return {.seed = seed_, .epoch = key.pass, .step = key.number}; }

 private:
  std::size_t outputs_;
  std::uint64_t seed_;
  ExecutableCache executables_;
};

// What a thread needs to compute elements one after the other; used again and again.
class MappingThread {
 public:
  explicit MappingThread(MappedFunction& function) : function_(function) {}

  // Where the next element's arguments are put.
  Tensors& arguments() { return arguments_; }
  // Writes the results for them into rows of memory.
  void run(const ElementKey& key, std::span<const RowMemory> leaves, const Specs& specs, std::size_t row) {
    if (!executable_ || !is_ready()) prepare(specs);
    if (!direct_) {
      function_.run(arguments_, results_, key);
      for (std::size_t i = 0; i < leaves.size(); ++i) write_row(results_[i], specs[i], leaves[i], row);
      return;
    }
    pointers_.clear();
    for (const Tensor& argument : arguments_) pointers_.push_back(argument.raw());
    for (const RowMemory& leaf : leaves) pointers_.push_back(leaf.first + row * leaf.row_bytes);
    const RandomState random = function_.random_at(key);
    executable_->run_raw(pointers_.data(), pointers_.data() + arguments_.size(), &random);
  }
  // Takes memory for elements like those that another one has computed.
  void make_room_like(const MappingThread& other) {
    arguments_ = room_for(other.arguments_);
    results_ = room_for(other.results_);
    specs_ = other.specs_;
    executable_ = other.executable_;
    direct_ = other.direct_;
    pointers_.reserve(other.pointers_.capacity());
  }
  // Lets several run at once without asking for memory.
  void reserve(std::size_t runs) {
    if (executable_) executable_->reserve(runs);
  }

 private:
  bool is_ready() const {
    return std::equal(arguments_.begin(), arguments_.end(), specs_.begin(), specs_.end(),
                      [](const Tensor& leaf, const TensorSpec& spec) { return leaf.spec() == spec; });
  }
  void prepare(const Specs& results) {
    specs_.clear();
    for (const Tensor& argument : arguments_) specs_.push_back(argument.spec());
    executable_ = function_.ready_for(arguments_);
    const Graph& graph = executable_->graph();
    direct_ = dynamic_cast<const PlannedExecutable*>(executable_.get()) != nullptr;
    for (std::size_t i = 0; direct_ && i < results.size(); ++i) direct_ = graph.spec(graph.outputs[i]) == results[i];
  }

  MappedFunction& function_;
  Tensors arguments_, results_;
  Specs specs_;  // of the arguments that the executable is ready for
  std::shared_ptr<Executable> executable_;
  bool direct_ = false;  // its results can be written in place
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
        threads_([this] { return std::make_unique<MappingThread>(*function_); }) {}

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
    for (std::size_t row = 0; row < places.size(); ++row) {
      ElementPlace place = places[row];
      const IndexedElements& from = input_->resolve({&place, 1});
      from.read(place, thread->arguments());
      thread->run(from.key(place), leaves, specs, row);
    }
  }
  std::size_t parallel_reads() const override { return parallel_; }
  void save_to(StateWriter& state) const override { input_->save_to(state); }
  void restore_from(StateReader& state) override { input_->restore_from(state); }

 private:
  std::unique_ptr<IndexedElements> input_;
  std::shared_ptr<MappedFunction> function_;
  std::size_t parallel_;
  mutable Workspaces<MappingThread> threads_;
};

// Computes elements ahead, as tasks of the pool, in a ring of slots, and gives them out in order. A ring of one slot is
// no ring: the element is computed by the thread that asks for it.
class MapIterator : public TransformIterator {
 public:
  // `width` is how many elements are computed ahead, at first where `most` is more.
  MapIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<MappedFunction> function, std::size_t width,
              std::size_t most)
      : TransformIterator(std::move(input)), function_(std::move(function)), width_(width), ring_(most) {
    for (Slot& slot : ring_) slot.map = this;
    begin_anew();
  }
  ~MapIterator() override { drop_all(); }

  bool next(Tensors& element) override {
    fill();
    if (given_ == pulled_) return false;
    Slot& slot = slot_at(given_);
    finish(slot);
    ++given_;
    key_ = slot.key;
    if (slot.error) std::rethrow_exception(std::exchange(slot.error, nullptr));
    if (!has_room_) make_room(slot);
    element.swap(slot.results);
    if (slot.results.empty()) slot.results = room_for(element);
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    for (; passed < count && given_ < pulled_; ++passed) drop(slot_at(given_++));
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
    ++epoch_;
    given_ = pulled_ = 0;
    input_->rewind();
    begin_anew();
  }
  void save_to(StateWriter& state) const override {
    const Start& start = given_ < newer_.at ? older_ : newer_;
    state.stage('M');
    state.number(epoch_);
    state.number(given_);
    state.number(given_ - start.at);
    state.raw(start.state);
  }
  void restore_from(StateReader& state) override {
    state.stage('M');
    drop_all();
    epoch_ = state.number();
    given_ = pulled_ = state.number();
    const std::uint64_t behind = state.number();
    input_->restore_from(state);
    // What had been given out is passed by unmapped.
    if (behind > given_ || input_->skip(behind) < behind) {
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"position", given_}});
    }
    begin_anew();
  }

 private:
  struct Slot : BackgroundTask {
    MapIterator* map = nullptr;
    bool submitted = false;
    ElementPlace place;  // of the argument, where the input gives places
    Tensors arguments, results;
    ElementKey key;
    std::exception_ptr error;

    void run() noexcept override { map->compute(*this); }
  };
  // Where the input stood before element number `at` was pulled.
  struct Start {
    std::uint64_t at = 0;
    std::string state;
  };

  Slot& slot_at(std::uint64_t number) { return ring_[static_cast<std::size_t>(number % ring_.size())]; }

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
    while (!ended_ && pulled_ - given_ < (has_room_ ? width_ : 1)) {
      mark_start();
      Slot& slot = slot_at(pulled_);
      if (!pull(slot)) {
        ended_ = true;
        break;
      }
      ++pulled_;
      if (slot.error || ring_.size() == 1) continue;
      slot.submitted = true;
      ThreadPool::instance().submit(slot);
    }
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

  void compute(Slot& slot) noexcept {
    try {
      if (const IndexedElements* elements = input_->indexed()) {
        const IndexedElements& from = elements->resolve({&slot.place, 1});
        slot.key = from.key(slot.place);
        from.read(slot.place, slot.arguments);
      }
      function_->run(slot.arguments, slot.results, slot.key);
    } catch (...) {
      slot.error = std::current_exception();
    }
  }

  void finish(Slot& slot) {
    if (slot.error && !slot.submitted) return;
    if (!std::exchange(slot.submitted, false)) return compute(slot);
    // One that others wait for is worth another under way.
    if (!slot.is_done() && width_ < ring_.size()) ++width_;
    ThreadPool::instance().finish(slot);
  }
  void drop(Slot& slot) {
    if (std::exchange(slot.submitted, false)) ThreadPool::instance().withdraw(slot);
    slot.error = nullptr;
  }
  void drop_all() {
    for (; given_ < pulled_; ++given_) drop(slot_at(given_));
  }

  // How many threads take part is a matter of timing, so every slot has its memory from the first element on.
  void make_room(const Slot& first) {
    has_room_ = true;
    if (ring_.size() == 1) return;
    const auto threads = static_cast<std::size_t>(ThreadPool::instance().threads());
    function_->ready_for(first.arguments)->reserve(std::min(threads, ring_.size()) + 1);
    for (Slot& slot : ring_) {
      if (&slot == &first) continue;
      slot.arguments = room_for(first.arguments);
      slot.results = room_for(first.results);
    }
  }

  std::shared_ptr<MappedFunction> function_;
  std::size_t width_;
  std::vector<Slot> ring_;
  std::uint64_t given_ = 0, pulled_ = 0;  // elements of this pass
  bool ended_ = false, has_room_ = false;
  Start older_, newer_;
  std::uint64_t epoch_ = 0;
  std::optional<ElementKey> key_;
};

class MapStage : public TransformStage {
 public:
  MapStage(const std::vector<Dataset>& inputs, const Attributes& attributes) : TransformStage(kMap, inputs) {
    const auto graph = attributes.get<std::shared_ptr<const Graph>>("graph");
    if (!graph) throw invalid_argument(kMap, "the graph of the function is expected");
    check_inputs(*graph);
    Specs outputs;
    for (const Value& output : graph->outputs) outputs.push_back(graph->spec(output));
    spec_ = parse_structure(attributes.get<std::string>("structure"), outputs);
    const auto calls = attributes.get<std::int64_t>("num_parallel_calls", 0);
    if (calls < kAutotune || calls > kMaxCalls) {
      throw invalid_argument(kMap, "the number of parallel calls must lie in [0, 1024], or be kAutotune",
                             {{"num_parallel_calls", calls}});
    }
    // Two for each thread: one that it computes and one that it finds next.
    most_ = calls == kAutotune ? 2 * static_cast<std::size_t>(ThreadPool::instance().threads())
                               : static_cast<std::size_t>(std::max<std::int64_t>(calls, 1));
    width_ = calls == kAutotune ? std::min<std::size_t>(most_, 2) : most_;
    parallel_reads_ = calls == kAutotune ? 0 : most_;
    function_ =
        std::make_shared<MappedFunction>(graph, static_cast<std::uint64_t>(attributes.get<std::int64_t>("seed", 0)));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<MapIterator>(input().make_iterator(), function_, width_, most_);
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<MappedElements>(input().stage().indexed(), function_, parallel_reads_);
  }

 private:
  static constexpr std::int64_t kMaxCalls = 1024;

  void check_inputs(const Graph& graph) const {
    const Specs wanted = graph.input_specs();
    const Specs given = input().element_spec().flatten();
    bool fits = wanted.size() == given.size();
    for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
      fits = wanted[i].dtype == given[i].dtype && wanted[i].shape.compatible(given[i].shape);
    }
    if (!fits) {
      throw invalid_argument(kMap, "a function of the input's elements is expected",
                             {{"element", to_string(input().element_spec())}, {"arguments", wanted.size()}});
    }
  }

  ElementSpec spec_;
  std::size_t width_ = 1, most_ = 1, parallel_reads_ = 1;
  std::shared_ptr<MappedFunction> function_;
};

COHORT_DATASET("map", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<MapStage>(inputs, attributes);
});

}  // namespace

DatasetTransform map(ElementFunction f, MapOptions options) {
  return [f = std::move(f), options](const Dataset& input) {
    const ElementSpec& spec = input.element_spec();
    std::string structure;
    const TracedGraph traced = trace(spec.flatten(), [&](const Tensors& leaves) {
      const Element result = f(spec.with_leaves(leaves), kMap);
      structure = structure_of(result);
      return result.flatten();
    });
    if (!traced.captures.empty()) {
      throw invalid_argument(kMap, "the function may use neither variables nor iterators",
                             {{"captures", traced.captures.size()}},
                             "Pass values as tensors, or do this in the model instead.");
    }
    return Dataset::make("map", {input},
                         {{"graph", traced.graph},
                          {"structure", structure},
                          {"num_parallel_calls", options.num_parallel_calls},
                          {"deterministic", options.deterministic},
                          {"seed", static_cast<std::int64_t>(global_seed())}});
  };
}

}  // namespace cohort::datasets
