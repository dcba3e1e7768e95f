#include "cohort/graph/recorded_steps.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/kernel.h"
#include "cohort/core/pinned_memory.h"
#include "cohort/core/timeline.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/planned_executable.h"

namespace cohort {
namespace {

// Kernels of one launch: beyond this the time to begin one is hidden behind the work, and making the recording takes
// longer than it saves.
constexpr std::size_t kMostCalls = 2000;
// Bytes of a launch's batches.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
// Of each part of a batch: what GPUs read fastest.
constexpr std::size_t kPartAlignment = 256;
// Outputs that are worth a launch of their own: to copy them takes longer than to begin one.
constexpr std::size_t kOutputBytes = std::size_t{2} << 20;
// Parts of a batch that are worth a copy of their own to the device: to copy them on the host takes longer than to
// begin one.
constexpr std::size_t kExchangedBytes = std::size_t{64} << 10;
// Pinned memory that is exchanged for a batch's: in all, and for one part before some of it comes back. Whoever makes
// the batches may keep many in store, or drop what is given.
constexpr std::size_t kMostPinned = std::size_t{256} << 20;
constexpr int kMostGiven = 64;
// Batches that stages usually keep in store: so much is made at once, up to as many bytes. When a stage first uses its
// store is a matter of timing, and a steady state allocates nothing.
constexpr std::size_t kMostInStore = 24;
constexpr std::size_t kSparesAtOnce = std::size_t{64} << 20;

std::size_t bytes_of(const TensorSpec& spec) {
  return static_cast<std::size_t>(spec.shape.num_elements()) * size_of(spec.dtype);
}

std::size_t rounded_up(std::size_t bytes) { return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

// Whether somebody waits for what its kernels have computed before the next of them is put into a stream: branches and
// loops do not while they are recorded. A kernel of the CPU looks for itself, on whichever device it runs.
bool waits_for_values(const Graph& graph, std::string_view kernel_type) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (passes::is_input(node) || passes::is_constant(node) || node.op->is_alias()) return false;
    const std::string& op = node.op->name();
    if (node.op->has_dynamic_outputs()) return true;
    if (!has_kernel(op, kernel_type)) return true;  // it runs on the host
    return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const Attributes::Entry& entry) {
      const auto* nested = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
      return nested && entry.name != "backward" && waits_for_values(**nested, kernel_type);
    });
  });
}

// Kernels of a run, those of graphs inside of it included.
std::size_t count_calls(const Graph& graph) {
  std::size_t calls = 0;
  for (const Node& node : graph.nodes) {
    if (passes::is_input(node) || passes::is_constant(node) || node.op->is_alias()) continue;
    std::size_t nested = 0;
    for (const Attributes::Entry& entry : node.attributes) {
      const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
      if (inner && entry.name != "backward") nested += count_calls(**inner);
    }
    std::int64_t turns = 1;
    if (node.op->name() == "Scan") {
      const auto carries = static_cast<std::size_t>(node.attributes.get<int>("num_carries"));
      turns = node.attributes.get<int>("num_sequences") > 0 ? graph.spec(node.inputs[carries]).shape[0]
                                                            : node.attributes.get<std::int64_t>("length", 1);
    }
    calls += 1 + nested * static_cast<std::size_t>(std::max<std::int64_t>(turns, 1));
  }
  return calls;
}

// The most of `steps` that divide it and stay within the limits.
std::int64_t steps_worth_a_launch(std::int64_t steps, std::size_t calls, std::size_t bytes) {
  for (std::int64_t each = steps; each > 1; --each) {
    const auto count = static_cast<std::size_t>(each);
    if (steps % each == 0 && count * calls <= kMostCalls && count * bytes <= kMostBytes) return each;
  }
  return 1;
}

}  // namespace

struct RecordedSteps::Block {
  Block(Device& device, PlannedExecutable& executable, std::size_t bytes)
      : pinned(device, bytes),
        memory(Buffer::allocate(device, bytes)),
        frame(executable.make_frame()),
        copied(device.make_event()),
        computed(device.make_event()) {
    // The memory is new in the order of the compute stream alone: what had it before may still be at work there.
    computed->record(DeviceStream::Compute);
  }
  char* data() const { return static_cast<char*>(memory->data()); }

  PinnedMemory pinned;
  Owned<Buffer> memory;
  std::unique_ptr<PlannedExecutable::Frame> frame;
  // When the pinned memory, and when the block, may be written again.
  std::unique_ptr<DeviceEvent> copied, computed;
  std::vector<std::unique_ptr<Recording>> recordings;  // of each part
  std::vector<void*> captures;                         // where they were when it was recorded
  // Places and bytes of what lies in the pinned memory and must be copied.
  std::vector<std::pair<std::size_t, std::size_t>> from_host;
  // Parts of batches that are copied from where they lie.
  struct Lent {
    std::size_t place, part;
    Tensor value;
  };
  std::vector<Lent> lent;
};

std::unique_ptr<RecordedSteps> RecordedSteps::make(std::shared_ptr<Executable> executable, Device& device,
                                                   std::span<const TensorSpec> batch, std::span<const Tensor> captures,
                                                   std::int64_t steps, std::span<const Tensor> example) {
  auto* planned = dynamic_cast<PlannedExecutable*>(executable.get());
  if (!planned || !device.can_record()) return nullptr;
  if (device.kernel_type() != kCPU && waits_for_values(planned->graph(), device.kernel_type())) return nullptr;
  if (!std::all_of(batch.begin(), batch.end(), [](const TensorSpec& spec) { return is_plain(spec.dtype); })) {
    return nullptr;
  }
  std::vector<Tensor> resident(batch.size());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!example.empty() && example[i].defined() && &example[i].device() == &device) {
      resident[i] = example[i];
    } else {
      bytes += rounded_up(bytes_of(batch[i]));
    }
  }
  if (!planned->graph().outputs.empty()) steps = 1;
  steps = steps_worth_a_launch(std::max<std::int64_t>(steps, 1), count_calls(planned->graph()), bytes);
  return std::unique_ptr<RecordedSteps>(
      new RecordedSteps(std::move(executable), *planned, device, batch, captures, steps, std::move(resident)));
}

RecordedSteps::RecordedSteps(std::shared_ptr<Executable> executable, PlannedExecutable& planned, Device& device,
                             std::span<const TensorSpec> batch, std::span<const Tensor> captures, std::int64_t steps,
                             std::vector<Tensor> resident)
    : executable_(std::move(executable)),
      planned_(planned),
      device_(device),
      batch_(batch.begin(), batch.end()),
      resident_(std::move(resident)),
      steps_(steps),
      inputs_(batch.size()),
      spare_(batch.size()),
      given_(batch.size()) {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    offsets_.push_back(step_bytes_);
    if (!resident_[i].defined()) step_bytes_ += rounded_up(bytes_of(batch_[i]));
  }
  offsets_.push_back(step_bytes_);
  step_bytes_ += rounded_up(sizeof(RandomState));
  for (const Tensor& capture : captures) inputs_.push_back(capture.to(device_));
  for (const Value& output : planned_.graph().outputs) {
    const TensorSpec& spec = planned_.graph().spec(output);
    outputs_.push_back(Tensor::empty(spec.dtype, spec.shape, device_));
    output_pointers_.push_back(outputs_.back().raw());
  }
  divide();
  std::vector<bool> same(planned_.graph().inputs.size(), true);
  for (std::size_t i = 0; i < batch_.size(); ++i) same[i] = resident_[i].defined();
  once_ = planned_.calls_on(same);
  for (auto& block : blocks_) {
    block = std::make_unique<Block>(device_, planned_, step_bytes_ * static_cast<std::size_t>(steps_));
    block->lent.reserve(batch_.size() * static_cast<std::size_t>(steps_));
  }
}

RecordedSteps::~RecordedSteps() { device_.drain(); }

// A part ends where enough outputs stand that have not been told of.
void RecordedSteps::divide() {
  const std::size_t calls = planned_.whole().last;
  const std::vector<std::size_t> needed = planned_.calls_for_outputs();
  std::vector<std::size_t> order(needed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return needed[a] < needed[b]; });
  Part part;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    part.outputs.push_back(order[i]);
    bytes += outputs_[order[i]].bytes();
    const std::size_t end = needed[order[i]];
    const bool others_too = i + 1 < order.size() && needed[order[i + 1]] == end;
    if (others_too || bytes < kOutputBytes || end == calls) continue;
    part.last = end;
    parts_.push_back(std::exchange(part, {.first = end}));
    bytes = 0;
  }
  part.last = calls;
  parts_.push_back(std::move(part));
}

bool RecordedSteps::takes(std::span<const Tensor> batch) const {
  if (batch.size() != batch_.size()) return false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].spec() != batch_[i]) return false;
    if (resident_[i].defined() && batch[i].raw() != resident_[i].raw()) return false;
  }
  return true;
}

void RecordedSteps::add(std::span<const Tensor> batch, const RandomState& random, const OutputsReady& ready) {
  Block& block = open_block();
  for (std::size_t i = 0; i < batch.size(); ++i) stage(block, i, batch[i]);
  stage_random(block, random);
  finish_step(block, ready);
}

void RecordedSteps::add_and_exchange(Tensors& batch, const RandomState& random, const OutputsReady& ready) {
  Block& block = open_block();
  for (std::size_t i = 0; i < batch.size(); ++i) exchange(block, i, batch[i]);
  stage_random(block, random);
  finish_step(block, ready);
}

RecordedSteps::Block& RecordedSteps::open_block() {
  Block& block = *blocks_[current_];
  if (added_ > 0) return block;
  block.copied->wait();
  for (Block::Lent& lent : block.lent) spare_[lent.part].push_back(std::move(lent.value));
  block.lent.clear();
  return block;
}

void RecordedSteps::finish_step(Block& block, const OutputsReady& ready) {
  ++added_;
  // A recording is one launch, in which no kernel has a time of its own.
  if (Timeline::current() || refused_) return run_unrecorded(block, ready);
  if (added_ < steps_) return;
  if (!record(block)) return run_unrecorded(block, ready);
  send(block);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    block.recordings[i]->launch();
    if (ready && !parts_[i].outputs.empty()) ready(parts_[i].outputs);
  }
  end_launch(block);
}

bool RecordedSteps::record(Block& block) {
  if (still_there(block)) return true;
  block.recordings.clear();
  try {
    for (const Part& part : parts_) {
      block.recordings.push_back(device_.record([&] { enqueue(block, steps_, part); }));
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unimplemented) throw;
    refused_ = true;
    return false;
  }
  ++recordings_;
  return true;
}

void RecordedSteps::flush() {
  if (added_ > 0) run_unrecorded(*blocks_[current_], {});
}

void RecordedSteps::run_unrecorded(Block& block, const OutputsReady& ready) {
  send(block);
  planned_.bind(inputs_, *block.frame);
  for (const Part& part : parts_) {
    enqueue(block, added_, part);
    if (ready && !part.outputs.empty()) ready(part.outputs);
  }
  end_launch(block);
}

void RecordedSteps::end_launch(Block& block) {
  block.computed->record(DeviceStream::Compute);
  current_ = 1 - current_;
  added_ = 0;
}

void RecordedSteps::stage(Block& block, std::size_t part, const Tensor& value) {
  if (resident_[part].defined()) return;
  const std::size_t place = place_of(part);
  if (&value.device() == &device_) {
    device_.copy(block.data() + place, value.raw(), value.bytes());
  } else {
    value.device().copy_to_host(block.pinned.data() + place, value.raw(), value.bytes());
    block.from_host.push_back({place, value.bytes()});
  }
}

void RecordedSteps::exchange(Block& block, std::size_t part, Tensor& value) {
  const bool exchanged = !resident_[part].defined() && value.bytes() >= kExchangedBytes && value.owns_memory() &&
                         value.buffer()->pooled() && &value.device() == &cpu();
  if (!exchanged) return stage(block, part, value);
  const bool comes_back = value.buffer()->pinned_for() == &device_;
  if (comes_back) given_[part] = 0;
  Tensor other = spare_for(part);
  if (comes_back && other.defined()) {
    block.lent.push_back({place_of(part), part, std::move(value)});
  } else {
    stage(block, part, value);
    if (!other.defined()) return;
  }
  ++given_[part];
  value = std::move(other);
}

Tensor RecordedSteps::spare_for(std::size_t part) {
  if (given_[part] == kMostGiven) return {};
  Tensors& spare = spare_[part];
  if (spare.empty()) make_spares(part);
  if (spare.empty()) return {};
  Tensor one = std::move(spare.back());
  spare.pop_back();
  return one;
}

void RecordedSteps::make_spares(std::size_t part) {
  const auto& [dtype, shape] = batch_[part];
  const std::size_t bytes = bytes_of(batch_[part]);
  Tensors& spare = spare_[part];
  std::size_t count = 1;
  if (spare.capacity() == 0) {
    count = std::clamp<std::size_t>(kSparesAtOnce / bytes, 1, 2 * static_cast<std::size_t>(steps_) + kMostInStore);
    spare.reserve(count);
  }
  for (; count > 0 && pinned_bytes_ + bytes <= kMostPinned; --count) {
    spare.push_back(Tensor::over(dtype, shape, Buffer::allocate_pinned(device_, bytes)));
    pinned_bytes_ += bytes;
  }
}

void RecordedSteps::stage_random(Block& block, const RandomState& random) {
  const std::size_t place = place_of(batch_.size());
  std::memcpy(block.pinned.data() + place, &random, sizeof random);
  block.from_host.push_back({place, sizeof random});
}

void RecordedSteps::send(Block& block) {
  block.computed->delay(DeviceStream::Copy);
  auto copy = [&](std::size_t place, const void* source, std::size_t bytes) {
    device_.enqueue_copy(block.data() + place, source, bytes, DeviceStream::Copy);
  };
  // What lies side by side is one copy.
  const auto& parts = block.from_host;
  for (std::size_t i = 0; i < parts.size();) {
    const std::size_t place = parts[i].first;
    std::size_t bytes = parts[i++].second;
    for (; i < parts.size() && place + rounded_up(bytes) == parts[i].first; ++i) {
      bytes = rounded_up(bytes) + parts[i].second;
    }
    copy(place, block.pinned.data() + place, bytes);
  }
  for (const Block::Lent& lent : block.lent) copy(lent.place, lent.value.raw(), lent.value.bytes());
  block.from_host.clear();
  block.copied->record(DeviceStream::Copy);
  block.copied->delay(DeviceStream::Compute);
}

bool RecordedSteps::still_there(Block& block) {
  planned_.bind(inputs_, *block.frame);
  const std::vector<void*>& found = block.frame->input_pointers;
  const auto captures = found.begin() + static_cast<std::ptrdiff_t>(batch_.size());
  const bool recorded = block.recordings.size() == parts_.size() &&
                        std::all_of(block.recordings.begin(), block.recordings.end(),
                                    [](const auto& recording) { return recording->is_valid(); });
  if (recorded && std::equal(captures, found.end(), block.captures.begin(), block.captures.end())) {
    return true;
  }
  block.captures.assign(captures, found.end());
  return false;
}

void RecordedSteps::enqueue(Block& block, std::int64_t steps, const Part& part) {
  std::vector<void*>& inputs = block.frame->input_pointers;
  for (std::int64_t step = 0; step < steps; ++step) {
    char* data = block.data() + static_cast<std::size_t>(step) * step_bytes_;
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      inputs[i] = resident_[i].defined() ? resident_[i].raw() : data + offsets_[i];
    }
    for (const Part& each : step == 0 ? std::vector<Part>{part} : repeated(part)) {
      planned_.execute(*block.frame, inputs.data(), output_pointers_.data(),
                       reinterpret_cast<RandomState*>(data + offsets_.back()), {each.first, each.last});
    }
  }
}

std::vector<RecordedSteps::Part> RecordedSteps::repeated(const Part& part) const {
  std::vector<Part> parts;
  std::size_t first = part.first;
  const auto add_until = [&](std::size_t last) {
    if (first < last) parts.push_back({.first = first, .last = last});
  };
  for (const std::size_t call : once_) {
    if (call < part.first || call >= part.last) continue;
    add_until(call);
    first = call + 1;
  }
  add_until(part.last);
  return parts;
}

}  // namespace cohort
