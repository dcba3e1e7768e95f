#include "cohort/graph/control_flow_kernels.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/graph/nested_graph.h"

namespace cohort {
namespace {

using GraphPtr = std::shared_ptr<const Graph>;

Specs specs_from(const KernelSpec& spec, int first) {
  Specs specs;
  for (int i = first; i < spec.num_inputs(); ++i) specs.push_back(spec.input(i));
  return specs;
}

template <const char* kAttribute>
KernelFn make_call(const KernelSpec& spec) {
  auto graph = std::make_shared<NestedGraph>(*spec.attr<GraphPtr>(kAttribute), specs_from(spec, 0), spec);
  return [graph](const KernelIO& io) { graph->run(io.inputs, io.outputs, io.random, io.allocator); };
}
constexpr char kGraph[] = "graph";
constexpr char kForward[] = "forward";

KernelFn make_cond(const KernelSpec& spec) {
  auto yes = std::make_shared<NestedGraph>(*spec.attr<GraphPtr>("then"), specs_from(spec, 1), spec);
  auto no = std::make_shared<NestedGraph>(*spec.attr<GraphPtr>("else"), specs_from(spec, 1), spec);
  return [yes, no](const KernelIO& io) {
    Device& device = yes->device();
    auto run = [&io](const NestedGraph& branch) { branch.run(io.inputs + 1, io.outputs, io.random, io.allocator); };
    if (device.is_recording()) {
      device.record_branch(
          io.in<bool>(0), [&] { run(*yes); }, [&] { run(*no); });
      return;
    }
    bool predicate = false;
    device.copy_to_host(&predicate, io.inputs[0], sizeof predicate);
    run(predicate ? *yes : *no);
  };
}

// A loop's state and results have places of their own size, made before it runs.
void check_sizes_known(const NestedGraph& body, std::span<const TensorSpec> state, const char* who) {
  const Specs outputs = body.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].shape.fully_known() || (i < state.size() && outputs[i] != state[i])) {
      throw invalid_argument(
          who, "a turn's results must have shapes that do not depend on values, its state the same each turn",
          {{"result " + std::to_string(i), outputs[i]}});
    }
  }
}

// What one run of a loop works with, in memory of the body's device: two copies of its state, of which a turn reads one
// and writes the other, where turns draw random numbers, where the loop stands, and the pointers handed to its body.
// Frames are kept, so that a warm loop asks for no memory; the first is there before work may be recorded.
class LoopFrames {
 public:
  LoopFrames(const NestedGraph& body, std::span<const TensorSpec> state, std::size_t arguments, std::size_t results,
             std::size_t turns)
      : device_(body.device()), arguments_(arguments), results_(results), turns_(turns) {
    for (const TensorSpec& spec : state) {
      bytes_.push_back(static_cast<std::size_t>(spec.shape.num_elements()) * size_of(spec.dtype));
    }
    give(take());
  }

  struct Frame {
    std::vector<Owned<Buffer>> sides[2];
    Owned<Buffer> draws, loop;
    std::vector<void*> arguments, results;
  };
  class Run {
   public:
    Run(LoopFrames& frames, void* const* inputs) : frames_(frames), frame_(frames.take()) {
      std::copy_n(inputs, frame_->arguments.size(), frame_->arguments.begin());
      for (std::size_t i = 0; i < frames.bytes_.size(); ++i) {
        device().copy(current(i), inputs[i], frames.bytes_[i]);
      }
    }
    ~Run() { frames_.give(std::move(frame_)); }
    Run(const Run&) = delete;

    Device& device() const { return frames_.device_; }
    std::vector<void*>& arguments() { return frame_->arguments; }
    std::vector<void*>& results() { return frame_->results; }
    void* current(std::size_t i) const { return frame_->sides[turn_][i]->data(); }
    void* next(std::size_t i) const { return frame_->sides[1 - turn_][i]->data(); }
    // Where each turn draws.
    RandomState* draws() const { return static_cast<RandomState*>(frame_->draws->data()); }
    LoopState* loop() const { return static_cast<LoopState*>(frame_->loop->data()); }
    void flip() { turn_ = 1 - turn_; }
    // Instead, where a turn must find its state where the one before has found it.
    void copy_back() const {
      for (std::size_t i = 0; i < frames_.bytes_.size(); ++i) device().copy(current(i), next(i), frames_.bytes_[i]);
    }
    void copy_out(void* const* outputs) const {
      for (std::size_t i = 0; i < frames_.bytes_.size(); ++i) {
        device().copy(outputs[i], current(i), frames_.bytes_[i]);
      }
    }

   private:
    LoopFrames& frames_;
    std::unique_ptr<Frame> frame_;
    int turn_ = 0;
  };

 private:
  std::unique_ptr<Frame> take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Frame> frame = std::move(free_.back());
        free_.pop_back();
        return frame;
      }
      free_.reserve(++made_);
    }
    auto frame = std::make_unique<Frame>();
    for (std::size_t bytes : bytes_) {
      for (auto& side : frame->sides) side.push_back(Buffer::allocate(device_, bytes));
    }
    frame->draws = Buffer::allocate(device_, turns_ * sizeof(RandomState));
    frame->loop = Buffer::allocate(device_, sizeof(LoopState));
    frame->arguments.resize(arguments_);
    frame->results.resize(results_);
    return frame;
  }
  void give(std::unique_ptr<Frame> frame) noexcept {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(frame));  // has room for all that were made
  }

  Device& device_;
  std::vector<std::size_t> bytes_;
  std::size_t arguments_, results_, turns_, made_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
};

// Inputs: loop variables, then captures. Outputs: loop variables.
class WhileKernel {
 public:
  explicit WhileKernel(const KernelSpec& spec)
      : inputs_(specs_from(spec, 0)),
        state_(std::span(inputs_).first(static_cast<std::size_t>(spec.num_outputs()))),
        condition_(*spec.attr<GraphPtr>("condition"), inputs_, spec),
        body_(*spec.attr<GraphPtr>("body"), inputs_, spec),
        limit_(spec.attr<std::int64_t>("maximum_iterations")),
        frames_(body_, state_, inputs_.size(), state_.size(), 0) {
    check_sizes_known(body_, state_, "while_loop");
  }

  void run(const KernelIO& io) {
    LoopFrames::Run run(frames_, io.inputs);
    run.device().is_recording() ? record(run, io) : repeat(run, io);
    run.copy_out(io.outputs);
  }

 private:
  // Waits for each answer of the condition.
  void repeat(LoopFrames::Run& run, const KernelIO& io) {
    RandomState loop;
    if (body_.draws()) run.device().copy_to_host(&loop, io.random, sizeof loop);
    for (std::int64_t turn = 0; limit_ < 0 || turn < limit_; ++turn) {
      bool go_on = false;
      set_state(run);
      ask(run, io);
      run.device().copy_to_host(&go_on, &run.loop()->go_on, sizeof go_on);
      if (!go_on) break;
      if (body_.draws()) {
        const RandomState draws = turn_of(loop, static_cast<std::uint64_t>(turn));
        run.device().copy_from_host(&run.loop()->draws, &draws, sizeof draws);
      }
      turn_once(run, io);
      run.flip();
    }
  }
  void record(LoopFrames::Run& run, const KernelIO& io) {
    set_state(run);
    run.device().record_loop({.state = run.loop(),
                              .random = body_.draws() ? io.random : nullptr,
                              .limit = limit_,
                              .condition = [&] { ask(run, io); },
                              .turn =
                                  [&] {
                                    turn_once(run, io);
                                    run.copy_back();
                                  }});
  }

  void set_state(LoopFrames::Run& run) const {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      run.arguments()[i] = run.current(i);
      run.results()[i] = run.next(i);
    }
  }
  void ask(LoopFrames::Run& run, const KernelIO& io) const {
    void* answer = &run.loop()->go_on;
    condition_.run(run.arguments().data(), &answer, io.random);
  }
  void turn_once(LoopFrames::Run& run, const KernelIO& io) const {
    body_.run(run.arguments().data(), run.results().data(), body_.draws() ? &run.loop()->draws : io.random);
  }

  const Specs inputs_;
  const std::span<const TensorSpec> state_;
  const NestedGraph condition_, body_;
  const std::int64_t limit_;
  LoopFrames frames_;
};

KernelFn make_while(const KernelSpec& spec) {
  return [loop = std::make_shared<WhileKernel>(spec)](const KernelIO& io) { loop->run(io); };
}

// Inputs: carries, sequences (time is axis 0), captures. Outputs: last carries, then one sequence per further result.
KernelFn make_scan(const KernelSpec& spec) {
  const auto carries = static_cast<std::size_t>(spec.attr<int>("num_carries"));
  const auto sequences = static_cast<std::size_t>(spec.attr<int>("num_sequences"));
  const bool reverse = spec.attr<bool>("reverse");
  Specs inputs = specs_from(spec, 0);
  const std::int64_t steps = sequences > 0 ? inputs[carries].shape[0] : spec.attr<std::int64_t>("length");
  auto row_bytes = [](const TensorSpec& s) {
    return static_cast<std::size_t>(s.shape.slice(1).num_elements()) * size_of(s.dtype);
  };
  std::vector<std::size_t> in_bytes, out_bytes;
  for (std::size_t i = carries; i < carries + sequences; ++i) {
    in_bytes.push_back(row_bytes(inputs[i]));
    inputs[i].shape = inputs[i].shape.slice(1);
  }
  for (int i = static_cast<int>(carries); i < spec.num_outputs(); ++i) out_bytes.push_back(row_bytes(spec.output(i)));
  auto body = std::make_shared<NestedGraph>(*spec.attr<GraphPtr>("body"), inputs, spec);
  check_sizes_known(*body, std::span<const TensorSpec>(inputs).first(carries), "scan");
  const std::size_t drawing = body->draws() ? static_cast<std::size_t>(steps) : 0;
  auto frames = std::make_shared<LoopFrames>(*body, std::span<const TensorSpec>(inputs).first(carries), inputs.size(),
                                             carries + out_bytes.size(), drawing);
  return [=](const KernelIO& io) {
    LoopFrames::Run run(*frames, io.inputs);
    std::vector<void*>&arguments = run.arguments(), &results = run.results();
    if (drawing > 0) run.device().derive_turns(run.draws(), io.random, drawing);
    for (std::int64_t turn = 0; turn < steps; ++turn) {
      const auto t = static_cast<std::size_t>(reverse ? steps - 1 - turn : turn);
      for (std::size_t i = 0; i < carries; ++i) {
        arguments[i] = run.current(i);
        results[i] = run.next(i);
      }
      for (std::size_t i = 0; i < sequences; ++i) {
        arguments[carries + i] = static_cast<char*>(io.inputs[carries + i]) + t * in_bytes[i];
      }
      for (std::size_t i = 0; i < out_bytes.size(); ++i) {
        results[carries + i] = static_cast<char*>(io.outputs[carries + i]) + t * out_bytes[i];
      }
      body->run(arguments.data(), results.data(), drawing > 0 ? run.draws() + t : io.random);
      run.flip();
    }
    run.copy_out(io.outputs);
  };
}

}  // namespace

void register_control_flow(std::string_view device_type) {
  register_kernel("Call", device_type, make_call<kGraph>);
  register_kernel("Remat", device_type, make_call<kGraph>);
  register_kernel("CustomGradient", device_type, make_call<kForward>);
  register_kernel("Cond", device_type, make_cond);
  register_kernel("While", device_type, make_while);
  register_kernel("Scan", device_type, make_scan);
}

namespace {

[[maybe_unused]] const bool control_flow_registered = [] {
  register_control_flow(kCPU);
  register_control_flow(kGPU);
  return true;
}();

}  // namespace
}  // namespace cohort
