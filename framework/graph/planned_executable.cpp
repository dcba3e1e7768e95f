#include "cohort/graph/planned_executable.h"

#include <algorithm>

#include "cohort/core/collective.h"
#include "cohort/core/kernel.h"
#include "cohort/core/work_halves.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort {

using passes::Location;

namespace {

// Calls what(the cast that makes a copy anew).
template <class What>
auto with_cast(const TensorSpec& copy, const What& what) {
  const Attributes attributes{{"dtype", copy.dtype}};
  const TensorSpec variable{DType::Float32, copy.shape};
  return what(OpCall(find_op("Cast"), attributes, {&variable, 1}));
}

}  // namespace

PlannedExecutable::PlannedExecutable(Graph graph, Device& device, bool share_memory,
                                     std::vector<passes::RoundedInput> copies)
    : graph_(std::move(graph)), device_(device), plan_(passes::plan_memory(graph_, share_memory, device.can_record())) {
  for (passes::RoundedInput& input : copies) {
    KeptCopy& copy = copies_.emplace_back(std::move(input));
    copy.cast = with_cast(copy.input.spec, [&](const OpCall& call) {
      return make_kernel(KernelSpec(call, {&copy.input.spec, 1}, device_));
    });
  }
  constants_.resize(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (passes::is_constant(graph_.nodes[i]))
      constants_[i] = graph_.nodes[i].attributes.get<Tensor>("value").to(device);
  }
  make_steps();
  collect_claims();
  if (device_.can_record()) shared_arena_ = make_arena();
  reserve(1);
}

PlannedExecutable::~PlannedExecutable() {
  // Work may be under way that needs the kernels.
  device_.drain();
}

KernelWork PlannedExecutable::Step::work() const {
  if (!node) return {.op = "CopyVariable"};
  Specs specs;
  for (const Value& input : node->inputs) specs.push_back(graph->spec(input));
  return work_of(OpCall(*node->op, node->attributes, specs), node->outputs);
}

KernelWork PlannedExecutable::KeptCopy::work() const {
  return with_cast(input.spec, [&](const OpCall& call) { return work_of(call, {&input.spec, 1}); });
}

void PlannedExecutable::make_steps() {
  std::size_t argument = 0;
  auto add_argument = [&](Step& step, const Location& location) {
    if (location.kind == Location::Kind::Input) input_patches_.push_back({argument, location.slot});
    if (location.kind == Location::Kind::Output) output_patches_.push_back({argument, location.slot});
    step.arguments.push_back(location);
    ++argument;
  };
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (passes::is_input(node) || passes::is_constant(node) || node.op->is_alias()) continue;
    Specs specs;
    Step step;
    for (const Value& input : node.inputs) {
      specs.push_back(graph_.spec(input));
      add_argument(step, plan_.locations[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.output)]);
      if (node.op->writes_resources() && specs.back().dtype == DType::Resource) {
        const int slot = plan_.locations[static_cast<std::size_t>(input.node)][0].slot;
        const bool given = static_cast<std::size_t>(slot) < given_inputs();
        if (given && std::find(written_inputs_.begin(), written_inputs_.end(), slot) == written_inputs_.end()) {
          written_inputs_.push_back(slot);
        }
      }
    }
    for (const Location& output : plan_.locations[i]) add_argument(step, output);
    const OpCall call(*node.op, node.attributes, specs);
    step.kernel = make_kernel(KernelSpec(call, node.outputs, device_, node.name));
    step.inputs = static_cast<int>(node.inputs.size());
    step.outputs = static_cast<int>(node.outputs.size());
    step.graph = &graph_;
    step.node = &node;
    steps_.push_back(std::move(step));
  }
  // Results that are inputs, constants or variables as they stand are copied out at the end.
  for (const auto& [output, source] : plan_.output_copies) {
    const TensorSpec& spec = graph_.spec(graph_.outputs[static_cast<std::size_t>(output)]);
    Step step;
    add_argument(step, source);
    add_argument(step, {Location::Kind::Output, 0, output});
    Attributes attributes{{"dtype", spec.dtype}, {"shape", spec.shape}};
    const Specs specs{{DType::Resource, {}}};
    const OpCall call(find_op("CopyVariable"), attributes, specs);
    step.kernel = make_kernel(KernelSpec(call, {&spec, 1}, device_));
    step.inputs = step.outputs = 1;
    steps_.push_back(std::move(step));
  }
}

void PlannedExecutable::collect_claims() {
  for (const Node& node : graph_.nodes) {
    Specs specs;
    for (const Value& input : node.inputs) specs.push_back(graph_.spec(input));
    for (const VariableClaim& claim : node.op->claims_of(OpCall(*node.op, node.attributes, specs))) {
      const int resource = node.inputs[static_cast<std::size_t>(claim.input)].node;
      const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), resource);
      if (input >= graph_.inputs.begin() + static_cast<std::ptrdiff_t>(given_inputs())) continue;
      claims_.push_back({static_cast<int>(input - graph_.inputs.begin()), claim.spec});
    }
  }
}

void PlannedExecutable::check_claims(std::span<const Tensor> inputs, Frame& frame) const {
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    Resource* resource = inputs[static_cast<std::size_t>(claims_[i].input)].resource().get();
    if (frame.checked[i] == resource) continue;
    if (resource->owner()) {
      throw internal_error("Graph", "a planned graph needs the memory of its variables, which live here",
                           {{"variable", resource->name()}});
    }
    if (Device& lies_on = resource->shared_value().device(); &lies_on != &device_) {
      throw internal_error("Graph", "variables must lie on the device that runs the graph",
                           {{"variable", resource->name()}, {"device", lies_on.name()}});
    }
    claims_[i].check("Graph", *resource);
    frame.checked[i] = resource;
  }
}

void* PlannedExecutable::fixed_pointer(const Location& location, char* arena) const {
  switch (location.kind) {
    case Location::Kind::Arena:
      return arena + location.offset;
    case Location::Kind::Constant:
      return constants_[static_cast<std::size_t>(location.slot)].raw();
    default:
      return nullptr;
  }
}

Owned<Buffer> PlannedExecutable::make_arena() const {
  return Buffer::allocate(device_, plan_.arena_bytes + 1,
                          [&] { return "arena of a graph of " + std::to_string(steps_.size()) + " ops"; });
}

std::unique_ptr<PlannedExecutable::Frame> PlannedExecutable::make_frame() const {
  auto frame = std::make_unique<Frame>();
  frame->arena = shared_arena_ ? shared_arena_ : make_arena();
  char* arena = static_cast<char*>(frame->arena->data());
  if (!device_.host_readable()) frame->random = Buffer::allocate(device_, sizeof(RandomState));
  for (const Step& step : steps_) {
    for (const Location& location : step.arguments) frame->arguments.push_back(fixed_pointer(location, arena));
  }
  std::size_t argument = 0;
  for (const Step& step : steps_) {
    frame->calls.push_back({&step.kernel, frame->arguments.data() + argument, step.inputs, step.outputs,
                            step.node ? &step.node->name : nullptr, &step});
    argument += step.arguments.size();
  }
  frame->checked.resize(claims_.size());
  frame->kept.resize(copies_.size());
  frame->input_pointers.resize(graph_.inputs.size());
  frame->output_pointers.resize(graph_.outputs.size());
  return frame;
}

std::unique_ptr<PlannedExecutable::Frame> PlannedExecutable::take_frame() {
  {
    std::lock_guard lock(mutex_);
    if (!free_frames_.empty()) {
      auto frame = std::move(free_frames_.back());
      free_frames_.pop_back();
      return frame;
    }
    count_frames(frames_ + 1);
  }
  return make_frame();
}

void PlannedExecutable::reserve(std::size_t runs) {
  std::lock_guard lock(mutex_);
  for (std::size_t made = frames_; made < runs; ++made) {
    std::unique_ptr<Frame> frame = make_frame();
    count_frames(made + 1);
    free_frames_.push_back(std::move(frame));
  }
}

// Returning a frame must not allocate.
void PlannedExecutable::count_frames(std::size_t frames) {
  if (free_frames_.capacity() < frames) free_frames_.reserve(2 * frames);
  frames_ = frames;
}

void PlannedExecutable::give_frame(std::unique_ptr<Frame> frame) {
  std::lock_guard lock(mutex_);
  free_frames_.push_back(std::move(frame));
}

void PlannedExecutable::find_copies(std::span<const Tensor> inputs, Frame& frame) const {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const passes::RoundedInput& copy = copies_[i].input;
    Frame::Kept& kept = frame.kept[i];
    Resource* variable = inputs[static_cast<std::size_t>(copy.variable)].resource().get();
    if (kept.variable != variable) {
      kept.value = dynamic_cast<RoundedValue*>(variable);
      if (!kept.value) {
        throw internal_error("Graph", "a variable that is kept rounded has its value here",
                             {{"variable", variable->name()}});
      }
      kept.variable = variable;
    }
    RoundedCopy& rounded = kept.value->rounded(copy.spec.dtype);
    frame.input_pointers[static_cast<std::size_t>(copy.copy)] = rounded.memory(copy.spec, device_);
    kept.stands = rounded.follows() == kept.value->writes();
  }
}

// What the run writes next it writes into the copies too.
void PlannedExecutable::renew_copies(Frame& frame) const {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const KeptCopy& copy = copies_[i];
    const Frame::Kept& kept = frame.kept[i];
    if (!kept.stands) {
      void* arguments[] = {frame.input_pointers[static_cast<std::size_t>(copy.input.variable)],
                           frame.input_pointers[static_cast<std::size_t>(copy.input.copy)]};
      const KernelCall call{.kernel = &copy.cast, .arguments = arguments, .inputs = 1, .outputs = 1, .subject = &copy};
      device_.run({&call, 1}, nullptr, nullptr);
    }
    kept.value->rounded(copy.input.spec.dtype).follow(kept.value->writes());
  }
}

void PlannedExecutable::bind(std::span<const Tensor> inputs, Frame& frame) const {
  check_claims(inputs, frame);
  find_copies(inputs, frame);
  for (int slot : written_inputs_) inputs[static_cast<std::size_t>(slot)].resource()->prepare_write();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    if (inputs[i].buffer() && &inputs[i].device() != &device_) {
      throw internal_error("Graph", "inputs must lie on the device that runs the graph",
                           {{"input", inputs[i].spec()}, {"device", inputs[i].device().name()}});
    }
    frame.input_pointers[i] = inputs[i].raw();
  }
  renew_copies(frame);
}

std::vector<std::size_t> PlannedExecutable::calls_on(const std::vector<bool>& same) const {
  std::vector<std::size_t> calls;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const auto node = step.node - graph_.nodes.data();
    if (!step.node || std::find(plan_.lasting.begin(), plan_.lasting.end(), node) == plan_.lasting.end()) continue;
    const auto inputs_end = step.arguments.begin() + step.inputs;
    if (std::all_of(step.arguments.begin(), inputs_end, [&](const Location& place) {
          return place.kind == Location::Kind::Constant || same[static_cast<std::size_t>(place.slot)];
        })) {
      calls.push_back(i);
    }
  }
  return calls;
}

// An output's memory may hold other values before its own: the last one to write there makes it.
std::vector<std::size_t> PlannedExecutable::calls_for_outputs() const {
  std::vector<std::size_t> calls(graph_.outputs.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (auto place = steps_[i].arguments.begin() + steps_[i].inputs; place != steps_[i].arguments.end(); ++place) {
      if (place->kind == Location::Kind::Output) calls[static_cast<std::size_t>(place->slot)] = i + 1;
    }
  }
  return calls;
}

void PlannedExecutable::execute(Frame& frame, void* const* inputs, void* const* outputs, const RandomState* random,
                                Part part) {
  for (const Patch& patch : input_patches_) frame.arguments[patch.argument] = inputs[patch.slot];
  for (const Patch& patch : output_patches_) frame.arguments[patch.argument] = outputs[patch.slot];
  try {
    device_.run(std::span<const KernelCall>(frame.calls).subspan(part.first, part.last - part.first), random, nullptr);
  } catch (...) {
    abandon_work(frame);
    throw;
  }
}

// It would go on in the frame's memory.
void PlannedExecutable::abandon_work(const Frame& frame) const noexcept {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Node* node = steps_[i].node;
    if (node && WorkHalves::begins(*node->op)) static_cast<Collective*>(frame.calls[i].arguments[0])->abandon();
  }
}

void PlannedExecutable::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RandomState& random) {
  auto frame = take_frame();
  try {
    bind(inputs, *frame);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const TensorSpec& spec = graph_.spec(graph_.outputs[i]);
      outputs[i].renew(spec.dtype, spec.shape, device_);
      frame->output_pointers[i] = outputs[i].raw();
    }
    const RandomState* readable = &random;
    if (frame->random) {
      device_.copy_from_host(frame->random->data(), &random, sizeof random);
      readable = static_cast<const RandomState*>(frame->random->data());
    }
    execute(*frame, frame->input_pointers.data(), frame->output_pointers.data(), readable);
  } catch (...) {
    give_frame(std::move(frame));
    throw;
  }
  give_frame(std::move(frame));
}

void PlannedExecutable::run_raw(void* const* inputs, void* const* outputs, const RandomState* random) {
  auto frame = take_frame();
  try {
    execute(*frame, inputs, outputs, random);
  } catch (...) {
    give_frame(std::move(frame));
    throw;
  }
  give_frame(std::move(frame));
}

}  // namespace cohort
