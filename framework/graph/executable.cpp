#include "cohort/graph/executable.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>

#include "cohort/core/collective.h"
#include "cohort/core/device_spec.h"
#include "cohort/core/kernel.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/planned_executable.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"

namespace cohort {
namespace {

// The device that a node asks for; nullptr where it asks for none, for one that is not there, or for a task.
Device* asked_device(const Node& node) {
  if (node.device.empty()) return nullptr;
  const DeviceScope scope(DeviceSpec::from_string(node.device));
  try {
    return scoped_local_device();
  } catch (const Error&) {
    return nullptr;
  }
}

// A graph with shapes that depend on values, with strings, on resources that live elsewhere or on several devices: its
// ops run one by one, each allocating its outputs.
class DynamicExecutable : public Executable {
 public:
  DynamicExecutable(Graph graph, Device& device) : graph_(std::move(graph)), device_(device) {
    last_use_.resize(graph_.nodes.size());
    for (const Node& node : graph_.nodes) asked_.push_back(asked_device(node));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const Value& input : graph_.nodes[i].inputs) last_use_[static_cast<std::size_t>(input.node)] = i;
    }
    for (const Value& output : graph_.outputs) last_use_[static_cast<std::size_t>(output.node)] = graph_.nodes.size();
  }

  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RandomState& random) override {
    const DefaultDeviceScope here(&device_);
    std::vector<Tensors> values(graph_.nodes.size());
    try {
      run_nodes(inputs, random, values);
    } catch (...) {
      for (const Tensor& input : inputs) {
        // What nodes have begun would go on in the memory of their outputs.
        if (!input.defined()) continue;
        if (auto* collective = dynamic_cast<Collective*>(input.resource().get())) collective->abandon();
      }
      throw;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Value& value = graph_.outputs[i];
      outputs[i] = values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
    }
  }

  void run_raw(void* const*, void* const*, const RandomState*) override {
    throw internal_error("Executable", "bare pointers need shapes that are known");
  }
  void reserve(std::size_t) override {}
  const Graph& graph() const override { return graph_; }
  std::size_t arena_bytes() const override { return 0; }

 private:
  void run_nodes(std::span<const Tensor> inputs, const RandomState& random, std::vector<Tensors>& values) {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      values[static_cast<std::size_t>(graph_.inputs[i])] = {inputs[i]};
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (passes::is_input(node)) continue;
      if (passes::is_constant(node)) {
        values[i] = {node.attributes.get<Tensor>("value").to(device_)};
        continue;
      }
      Tensors arguments;
      for (const Value& input : node.inputs) {
        arguments.push_back(values[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.output)]);
      }
      std::optional<DeviceScope> scope;
      if (asked_[i]) scope.emplace(DeviceSpec::from_string(asked_[i]->name()));
      values[i] = run_eagerly(*node.op, arguments, node.attributes, random);
      for (const Value& input : node.inputs) {
        if (last_use_[static_cast<std::size_t>(input.node)] == i) values[static_cast<std::size_t>(input.node)].clear();
      }
    }
  }

  Graph graph_;
  Device& device_;
  std::vector<std::size_t> last_use_;
  std::vector<Device*> asked_;  // by node
};

bool can_be_planned(const Graph& graph, const Device& device) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.op->has_dynamic_outputs() || (node.op->is_host_only() && !device.host_readable())) return false;
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [](const TensorSpec& spec) { return spec.shape.fully_known() && spec.dtype != DType::String; });
  });
}

}  // namespace

std::shared_ptr<Executable> compile(const Graph& traced, const Specs& inputs, Device& device,
                                    const PassOptions& options) {
  Graph graph = specialize(inline_calls(traced), inputs);
  passes::remove_dead_nodes(graph);
  if (!can_be_planned(graph, device)) return std::make_shared<DynamicExecutable>(std::move(graph), device);
  if (options.fold) passes::fold(graph);
  if (options.cse) passes::eliminate_common_subexpressions(graph);
  if (options.layout) passes::layout(graph);
  if (options.fuse) passes::mask_before_unpool(graph);
  if (options.fuse) passes::fuse_epilogues(graph);
  if (options.fuse && device.kernel_type() == kGPU) passes::split_batch_norms(graph);
  std::vector<passes::RoundedInput> copies;
  if (options.copies && device.can_record()) copies = passes::keep_rounded_copies(graph);
  if (options.casts) passes::take_in_casts(graph, device.kernel_type());
  if (options.fuse && device.kernel_type() == kGPU) passes::keep_row_statistics(graph);
  if (options.fuse && device.kernel_type() == kGPU) passes::join_loss_gradients(graph);
  if (options.fuse && device.kernel_type() == kGPU) passes::keep_relu_masks(graph);
  if (options.fuse) passes::fuse_bias_gradients(graph);
  if (options.fuse) passes::pool_convolutions(graph);
  if (options.fuse && device.kernel_type() == kCPU) passes::update_by_slices(graph);
  passes::copy_reads_that_outlive_writes(graph);
  if (options.schedule) passes::join_additions(graph);
  if (options.fuse) passes::fuse_elementwise(graph);
  if (options.schedule) passes::schedule(graph);
  if (options.schedule) passes::overlap_work(graph);
  if (options.fuse && options.schedule && device.kernel_type() == kGPU) passes::join_small_steps(graph);
  return std::make_shared<PlannedExecutable>(std::move(graph), device, options.memory, std::move(copies));
}

std::shared_ptr<Executable> compile_op_by_op(const Graph& traced, const Specs& inputs, Device& device) {
  Graph graph = specialize(inline_calls(traced), inputs);
  passes::remove_dead_nodes(graph);
  return std::make_shared<DynamicExecutable>(std::move(graph), device);
}

struct ExecutableCache::State {
  struct Entry {
    Device* device;
    bool op_by_op;
    Specs inputs;
    std::shared_ptr<Executable> executable;
  };
  // Resources that were met last on a device, and what follows from where they are.
  struct Met {
    Device* device;
    std::vector<std::weak_ptr<Resource>> resources;
    bool op_by_op;
  };
  std::shared_ptr<const Graph> graph;
  PassOptions passes;
  std::mutex mutex;
  std::list<Entry> entries;  // most recently used first
  std::list<Met> met;

  // Whether variables or nodes need other devices than `device`, or other tasks. `mutex` is held.
  bool runs_op_by_op(std::span<const Tensor> inputs, Device& device);
};

namespace {

// Shapes met by one program are few (a full and a last batch, training and validation): more is a leak.
constexpr std::size_t kMostSpecializations = 16;

bool lives_elsewhere(const Tensor& input, const Device& device) {
  if (input.dtype() != DType::Resource || !input.resource()) return false;
  Resource& resource = *input.resource();
  if (resource.owner()) return true;
  return resource.kind() == std::string_view("Variable") && &resource.shared_value().device() != &device;
}

bool asks_for_another(const Node& node, const Device& device) {
  const Device* asked = asked_device(node);
  return asked && asked != &device;
}

bool same_resources(const std::vector<std::weak_ptr<Resource>>& known, std::span<const Tensor> inputs) {
  std::size_t i = 0;
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::Resource) continue;
    const std::shared_ptr<Resource>& resource = input.resource();
    if (i == known.size() || known[i].owner_before(resource) || resource.owner_before(known[i])) return false;
    ++i;
  }
  return i == known.size();
}

}  // namespace

bool ExecutableCache::State::runs_op_by_op(std::span<const Tensor> inputs, Device& device) {
  const auto known = std::find_if(met.begin(), met.end(), [&](const Met& each) { return each.device == &device; });
  if (known != met.end() && same_resources(known->resources, inputs)) return known->op_by_op;
  Met found{&device, {}, false};
  for (const Tensor& input : inputs) {
    if (input.dtype() == DType::Resource) found.resources.push_back(input.resource());
    if (lives_elsewhere(input, device)) found.op_by_op = true;
  }
  for (const Node& node : graph->nodes) {
    if (asks_for_another(node, device)) found.op_by_op = true;
  }
  if (known != met.end()) met.erase(known);
  met.push_front(std::move(found));
  return met.front().op_by_op;
}

ExecutableCache::ExecutableCache(std::shared_ptr<const Graph> graph, PassOptions passes)
    : state_(std::make_unique<State>()) {
  state_->graph = std::move(graph);
  state_->passes = passes;
}
ExecutableCache::~ExecutableCache() = default;

const std::shared_ptr<const Graph>& ExecutableCache::graph() const { return state_->graph; }

std::shared_ptr<Executable> ExecutableCache::specialize(std::span<const Tensor> inputs, Device& device) {
  bool op_by_op = false;
  auto matches = [&](const State::Entry& entry) {
    return entry.device == &device && entry.op_by_op == op_by_op && entry.inputs.size() == inputs.size() &&
           std::equal(inputs.begin(), inputs.end(), entry.inputs.begin(),
                      [](const Tensor& tensor, const TensorSpec& spec) { return tensor.spec() == spec; });
  };
  {
    std::lock_guard lock(state_->mutex);
    op_by_op = state_->runs_op_by_op(inputs, device);
    for (auto entry = state_->entries.begin(); entry != state_->entries.end(); ++entry) {
      if (!matches(*entry)) continue;
      state_->entries.splice(state_->entries.begin(), state_->entries, entry);
      return entry->executable;
    }
  }
  Specs specs;
  for (const Tensor& input : inputs) specs.push_back(input.spec());
  auto executable = op_by_op ? compile_op_by_op(*state_->graph, specs, device)
                             : compile(*state_->graph, specs, device, state_->passes);
  std::lock_guard lock(state_->mutex);
  state_->entries.push_front({&device, op_by_op, std::move(specs), executable});
  if (state_->entries.size() > kMostSpecializations) state_->entries.pop_back();
  return executable;
}

void ExecutableCache::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RandomState& random,
                          Device& device) {
  specialize(inputs, device)->run(inputs, outputs, random);
}

}  // namespace cohort
