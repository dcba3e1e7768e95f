#include "cohort/autodiff/tape.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "cohort/autodiff/backprop.h"
#include "cohort/core/masks.h"

namespace cohort {

// Sits on the dispatcher stack, passes every op on, and keeps those that depend on something watched.
class GradientTape::Recorder : public Dispatcher {
 public:
  explicit Recorder(GradientTapeOptions options) : options(options), scope(std::in_place, *this) {}

  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override {
    Tensors outputs = dispatch_below(op, inputs, attributes);
    record(op, inputs, attributes, outputs);
    return outputs;
  }

  void record(const OpDef& op, const Tensors& inputs, const Attributes& attributes, const Tensors& outputs) {
    if (!recording || !op.is_differentiable() || outputs.empty()) return;
    bool tracked = false;
    for (const Tensor& input : inputs) {
      tracked = tracked || watched.contains(input.key()) ||
                (input.dtype() == DType::Resource && options.watch_accessed_variables);
    }
    if (!tracked) return;
    for (const Tensor& output : outputs) watched.insert(output.identity());
    ops.push_back({&op, attributes, inputs, outputs});
  }

  void watch(const Tensor& tensor) {
    watched.insert(tensor.key());
    kept.push_back(tensor);
  }

  GradientTapeOptions options;
  bool recording = true;
  bool spent = false;
  std::vector<RecordedOp> ops;
  std::unordered_set<const void*> watched;
  Tensors kept;
  std::optional<DispatcherScope> scope;
  MaskScope masks;
};

namespace {

// Stops recording for a scope, whichever way it is left.
struct PauseRecording {
  explicit PauseRecording(bool& recording) : recording(recording), before(std::exchange(recording, false)) {}
  ~PauseRecording() { recording = before; }
  bool& recording;
  const bool before;
};

}  // namespace

GradientTape::GradientTape(GradientTapeOptions options) : recorder_(std::make_unique<Recorder>(options)) {}
GradientTape::~GradientTape() = default;

void GradientTape::watch(const Tensor& tensor) { recorder_->watch(tensor); }

Gradients GradientTape::gradients(const Tensors& targets, const Tensors& sources, const Tensors& output_gradients) {
  Recorder& recorder = *recorder_;
  if (recorder.spent) {
    throw failed_precondition("GradientTape", "a tape that is not persistent gives one gradient", {},
                              "Make it with {.persistent = true} to ask again.");
  }
  if (recorder.options.persistent) {
    // What the backward pass does is of interest to outer tapes only.
    const PauseRecording pause(recorder.recording);
    const std::vector<RecordedOp> ops = recorder.ops;
    return backpropagate(ops, targets, output_gradients, sources);
  }
  recorder.scope.reset();
  recorder.spent = true;
  Gradients result = backpropagate(recorder.ops, targets, output_gradients, sources);
  recorder.ops.clear();
  recorder.kept.clear();
  return result;
}

Gradients GradientTape::joined(Gradients of_shards, const Tensors& handles, const std::vector<std::size_t>& shards) {
  if (of_shards.size() == shards.size()) return of_shards;
  Gradients result;
  std::size_t next = 0;
  for (const std::size_t count : shards) {
    const std::size_t first = next;
    next += count;
    const auto is_defined = [](const Gradient& gradient) { return gradient.defined(); };
    const auto begin = of_shards.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = of_shards.begin() + static_cast<std::ptrdiff_t>(next);
    if (count == 1 || std::none_of(begin, end, is_defined)) {
      result.push_back(of_shards[first]);
      continue;
    }
    Tensors rows;
    for (std::size_t i = first; i < next; ++i) {
      const TensorSpec spec = handles[i].resource()->value_spec();
      rows.push_back(of_shards[i].defined() ? of_shards[i].dense() : Tensor::full(spec.shape, 0.0, spec.dtype));
    }
    result.push_back(run_op("Concat", rows, {{"axis", 0}}));
  }
  return result;
}

Tensor GradientTape::jacobian(const Tensor& target, const Tensor& source) {
  const std::int64_t size = target.num_elements();
  if (size == kUnknown) {
    throw invalid_argument("GradientTape.jacobian", "the target's size must be known", {{"target", target.spec()}});
  }
  Recorder& recorder = *recorder_;
  if (recorder.spent) throw failed_precondition("GradientTape", "a tape that is not persistent gives one gradient");
  const PauseRecording pause(recorder.recording);
  if (!recorder.options.persistent) {
    recorder.scope.reset();
    recorder.spent = true;
  }
  Tensors rows;
  for (std::int64_t i = 0; i < size; ++i) {
    std::vector<float> unit(static_cast<std::size_t>(size), 0.0f);
    unit[static_cast<std::size_t>(i)] = 1.0f;
    Tensor seed = Tensor::of(unit, target.shape());
    if (target.dtype() != DType::Float32) seed = run_op("Cast", {seed}, {{"dtype", target.dtype()}});
    Tensor row = backpropagate(recorder.ops, {target}, {seed}, {source})[0].dense();
    rows.push_back(row.defined() ? row : run_op("ZerosLike", {source}));
  }
  Shape shape = target.shape();
  for (std::int64_t axis : source.shape()) shape.push_back(axis);
  const Tensor stacked = run_op("Stack", rows, {{"axis", 0}});
  return run_op("Reshape", {stacked}, {{"shape", shape.to_vector()}});
}

}  // namespace cohort
