#include "cohort/datasets/transforms/map.h"

#include <algorithm>
#include <exception>

#include "cohort/core/random.h"
#include "cohort/core/thread_pool.h"
#include "cohort/datasets/transforms/transform.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"

namespace cohort::datasets {
namespace {

constexpr const char* kMap = "Dataset.map";

// The traced function, run on the host; what an element draws depends on its number in the epoch alone.
class MappedFunction {
 public:
  MappedFunction(std::shared_ptr<const Graph> graph, std::uint64_t seed)
      : outputs_(graph->outputs.size()), seed_(seed), executables_(std::move(graph)) {}

  void run(const Tensors& arguments, Tensors& results, std::uint64_t epoch, std::uint64_t index) {
    results.resize(outputs_);
    executables_.run(arguments, results, {.seed = seed_, .epoch = epoch, .step = index}, cpu());
  }
  // Makes ready for elements like this one in several runs at once.
  void reserve(const Tensors& arguments, std::size_t runs) { executables_.specialize(arguments, cpu())->reserve(runs); }

 private:
  std::size_t outputs_;
  std::uint64_t seed_;
  ExecutableCache executables_;
};

// Takes a window of elements, maps them on the compute pool and gives them out in order; a window of one element is
// mapped by the thread that asks.
class MapIterator : public TransformIterator {
 public:
  MapIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<MappedFunction> function, std::size_t window)
      : TransformIterator(std::move(input)), function_(std::move(function)), window_(window) {
    mark_start();
  }

  bool next(Tensors& element) override {
    if (next_ == held_ && !fill()) return false;
    Slot& slot = window_[next_++];
    ++index_;
    if (slot.error) std::rethrow_exception(std::exchange(slot.error, nullptr));
    element.swap(slot.results);
    if (slot.results.empty()) slot.results = room_for(element);
    return true;
  }
  void rewind() override {
    ++epoch_;
    index_ = 0;
    input_->rewind();
    mark_start();
  }
  void save_to(StateWriter& state) const override {
    state.stage('M');
    state.number(epoch_);
    state.number(index_);
    state.number(next_);
    state.raw(start_);
  }
  void restore_from(StateReader& state) override {
    state.stage('M');
    epoch_ = state.number();
    index_ = state.number();
    const std::uint64_t given = state.number();
    input_->restore_from(state);
    mark_start();
    // What the window had given out is passed by unmapped; another window size may follow.
    if (given > index_ || discard_input(given) < given) {
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"position", index_}});
    }
    mark_start();
  }

 private:
  struct Slot {
    Tensors arguments, results;
    std::exception_ptr error;
  };

  // The window is empty and the input stands behind it.
  void mark_start() {
    next_ = held_ = 0;
    write_input_state(start_);
  }

  // An error of the input takes the place of the element it came for, behind those that came before it.
  void pull() {
    for (; held_ < window_.size(); ++held_) {
      Slot& slot = window_[held_];
      try {
        if (!input_->next(slot.arguments)) return;
      } catch (...) {
        slot.error = std::current_exception();
        ++held_;
        return;
      }
    }
  }

  bool fill() {
    mark_start();
    pull();
    reserve_runs();
    ThreadPool::instance().run_blocks(static_cast<std::int64_t>(held_), [&](std::int64_t i) {
      Slot& slot = window_[static_cast<std::size_t>(i)];
      if (slot.error) return;
      try {
        function_->run(slot.arguments, slot.results, epoch_, index_ + static_cast<std::uint64_t>(i));
      } catch (...) {
        slot.error = std::current_exception();
      }
    });
    return held_ > 0;
  }

  // How many threads take part in a window is a matter of timing; what they need is there before.
  void reserve_runs() {
    const std::size_t runs = std::min(held_, static_cast<std::size_t>(ThreadPool::instance().threads()));
    if (runs < 2 || window_[0].error) return;
    const Tensors& arguments = window_[0].arguments;
    const bool known = std::equal(arguments.begin(), arguments.end(), reserved_.begin(), reserved_.end(),
                                  [](const Tensor& leaf, const TensorSpec& spec) { return leaf.spec() == spec; });
    if (known) return;
    function_->reserve(arguments, runs);
    reserved_.clear();
    for (const Tensor& leaf : arguments) reserved_.push_back(leaf.spec());
  }

  std::shared_ptr<MappedFunction> function_;
  Specs reserved_;  // of the arguments that memory was last set aside for
  std::vector<Slot> window_;
  std::size_t next_ = 0, held_ = 0;
  std::string start_;  // the input's state before the window
  std::uint64_t epoch_ = 0, index_ = 0;
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
    window_ = calls == kAutotune ? ThreadPool::instance().threads() : std::max<std::int64_t>(calls, 1);
    function_ =
        std::make_shared<MappedFunction>(graph, static_cast<std::uint64_t>(attributes.get<std::int64_t>("seed", 0)));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<MapIterator>(input().make_iterator(), function_, static_cast<std::size_t>(window_));
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
  std::int64_t window_ = 1;
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
