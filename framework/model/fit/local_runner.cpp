#include "cohort/model/fit/local_runner.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/core/timeline.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/model.h"

namespace cohort {
namespace {

constexpr std::string_view kExamples = "examples", kSecondsWaiting = "seconds_waiting_for_data";

// Stages that only move what lies in memory: their elements are cheaper than to hand them from thread to thread.
constexpr std::array<std::string_view, 11> kCheapStages{
    "tensor_slices", "range", "shuffle", "batch", "repeat", "take", "skip", "shard", "enumerate", "zip", "concatenate"};
constexpr std::size_t kMostStages = 256;  // looked at

bool is_cheap(const Dataset& dataset) {
  std::vector<const Dataset*> stages{&dataset};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string& kind = stages[i]->kind();
    if (i == kMostStages || std::find(kCheapStages.begin(), kCheapStages.end(), kind) == kCheapStages.end())
      return false;
    for (const Dataset& input : stages[i]->inputs()) stages.push_back(&input);
  }
  return true;
}

// What comes first in saved data.
constexpr std::uint64_t kFresh = 1, kHasOwnState = 2;

// The next batches are read while a step runs, unless the program has seen to that or there is nothing to gain.
Dataset read_ahead(const Dataset& dataset) {
  return dataset.kind() == "prefetch" || is_cheap(dataset) ? dataset : dataset.prefetch(kAutotune);
}

}  // namespace

LocalRunner::LocalRunner(std::shared_ptr<Program> program, const RunnerData& data, const RunnerOptions& options,
                         Device& device, const InputContext& context)
    : RunnerBase(std::move(program), options),
      dataset_(read_ahead(data.creator ? (*data.creator)(context) : data.dataset)),
      device_(&device) {}

void LocalRunner::build() {
  if (program_->eager()) {
    build_eagerly();
  } else {
    program_->step(dataset_.element_spec());
  }
}

// Without a trace it takes a batch to make the weights. A test step changes nothing but metrics.
void LocalRunner::build_eagerly() {
  if (!iterator_) iterator_ = dataset_.make_iterator();
  const std::string state = iterator_->save();
  const bool found = iterator_->next(batch_);
  Model& model = program_->model();
  if (found) {
    for (Tensor& leaf : batch_) leaf = leaf.to(*device_);
    model.training().program(Program::Kind::Test)->run_eagerly(dataset_.element_spec().with_leaves(batch_), random_);
    model.reset_metrics();
    const Variables variables = model.trainable_variables();
    if (!model.optimizer()->built() && !variables.empty()) model.optimizer()->build(variables);
  }
  iterator_->restore(state);
}

void LocalRunner::begin_epoch(std::int64_t epoch) {
  examples_ = 0;
  waiting_ = {};
  RunnerBase::begin_epoch(epoch);
}

void LocalRunner::begin_data(bool continues) {
  if (!iterator_) {
    iterator_ = dataset_.make_iterator();
  } else if (!continues && !fresh_) {
    rewind();
  }
}

void LocalRunner::rewind() {
  iterator_->rewind();
  fresh_ = true;
}

bool LocalRunner::next_batch(bool first_of_epoch) {
  const TimelineSpan span("data", "data wait", next_step_);
  bool found = iterator_->next(batch_);
  if (!found && first_of_epoch && !fresh_) {  // the epoch before took the very last batch
    rewind();
    found = iterator_->next(batch_);
  }
  if (found) fresh_ = false;
  return found;
}

bool LocalRunner::measured_next_batch(bool first_of_epoch) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = measures_waiting_ ? Clock::now() : Clock::time_point();
  const bool found = next_batch(first_of_epoch);
  if (measures_waiting_) waiting_ += Clock::now() - begin;
  if (measures_examples_ && found && !batch_.empty() && batch_[0].rank() > 0) examples_ += batch_[0].shape()[0];
  return found;
}

bool LocalRunner::measure(std::string_view name) {
  if (name == kExamples) return measures_examples_ = true;
  if (name == kSecondsWaiting) return measures_waiting_ = true;
  return false;
}

std::optional<double> LocalRunner::measured(std::string_view name) const {
  if (name == kExamples && measures_examples_) return static_cast<double>(examples_);
  if (name == kSecondsWaiting && measures_waiting_) return std::chrono::duration<double>(waiting_).count();
  return std::nullopt;
}

Execution LocalRunner::run(std::int64_t first_step, std::int64_t steps) {
  Execution execution;
  next_step_ = first_step;
  if (step_ && !recorded_ && device_->can_record() && !predicts()) record_from_now(steps);
  while (execution.steps < steps) {
    const TimelineSpan span("step", "step", next_step_);
    if (!agree_on_step(measured_next_batch(rewinds_alone_ && next_step_ == 0))) {
      execution.data_ended = true;
      rewind();  // what comes next starts over
      break;
    }
    random_.step = static_cast<std::uint64_t>(next_step_);
    run_batch(execution);
    ++execution.steps;
    ++next_step_;
  }
  if (recorded_) recorded_->flush();
  return execution;
}

void LocalRunner::record_from_now(std::int64_t steps) {
  Specs specs;
  for (const Tensor& leaf : batch_) specs.push_back(leaf.spec());
  for (std::size_t i = 0; i < batch_.size(); ++i) inputs_[i].renew_from(batch_[i], *device_);
  recorded_ = RecordedSteps::make(step_->executables->specialize(inputs_, *device_), *device_, specs,
                                  step_->traced.captures, steps, batch_);
}

void LocalRunner::run_batch(Execution& execution) {
  const TimelineSpan span("compute", "compute", next_step_);
  if (program_->eager()) {
    for (Tensor& leaf : batch_) leaf = leaf.to(*device_);
    Element result = program_->run_eagerly(dataset_.element_spec().with_leaves(batch_), random_);
    if (predicts()) execution.outputs.push_back(std::move(result));
    return;
  }
  if (!step_) {
    step_ = &program_->step(dataset_.element_spec());
    inputs_.assign(batch_.size(), Tensor());
    inputs_.insert(inputs_.end(), step_->traced.captures.begin(), step_->traced.captures.end());
    outputs_.resize(step_->traced.graph->outputs.size());
  }
  if (recorded_ && recorded_->takes(batch_)) return recorded_->add_and_exchange(batch_, random_);
  if (recorded_) recorded_->flush();
  for (std::size_t i = 0; i < batch_.size(); ++i) inputs_[i].renew_from(batch_[i], *device_);
  step_->executables->run(inputs_, outputs_, random_, *device_);
  // A batch that has one owner is written over by the next.
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (inputs_[i].same_as(batch_[i])) inputs_[i] = Tensor();
  }
  if (predicts()) execution.outputs.push_back(step_->outputs.with_leaves(outputs_));
}

std::string LocalRunner::save_data() const {
  std::string state;
  if (iterator_) {
    StateWriter writer(state);
    const std::string own = own_state();
    writer.number((fresh_ ? kFresh : 0) | (own.empty() ? 0 : kHasOwnState));
    writer.bytes(iterator_->save());
    if (!own.empty()) writer.bytes(own);
  }
  return state;
}

void LocalRunner::restore_data(const std::string& state) {
  if (!iterator_) iterator_ = dataset_.make_iterator();
  if (state.empty()) return;
  StateReader reader(state);
  const std::uint64_t flags = reader.number();
  fresh_ = (flags & kFresh) != 0;
  iterator_->restore(reader.bytes());
  if ((flags & kHasOwnState) != 0) restore_own_state(reader.bytes());
  reader.finish();
}

}  // namespace cohort
