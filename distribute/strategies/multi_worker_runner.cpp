#include "cohort/distribute/strategies/multi_worker_runner.h"

#include <array>
#include <cstring>
#include <exception>
#include <span>

#include "cohort/core/device_spec.h"
#include "cohort/core/error.h"
#include "cohort/core/timeline.h"
#include "cohort/data/iterator_state.h"
#include "cohort/distribute/strategies/batch_rows.h"
#include "cohort/distribute/strategies/worker_agreement.h"
#include "cohort/graph/trace.h"
#include "cohort/model/model.h"
#include "cohort/ops/math.h"

namespace cohort::distribute {
namespace {

constexpr const char* kWho = "MultiWorkerMirroredStrategy";
constexpr std::size_t kFields = 3;  // of a step's header

// A value that all workers must have in common.
struct CommonValue {
  std::int64_t own;
  const char *name, *advice;
};
constexpr const char* kSameBackup = "Workers go on from the backup that they all see, or none does.";
constexpr const char* kSameData = "Give fit the same data on every worker.";

void check_same(collective::Communicator& workers, std::span<const CommonValue> values) {
  std::vector<std::int64_t> own, all(values.size() * static_cast<std::size_t>(workers.size()));
  for (const CommonValue& value : values) own.push_back(value.own);
  workers.all_gather(own.data(), all.data(), static_cast<std::int64_t>(own.size()), DType::Int64);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t value = i % values.size(), worker = i / values.size();
    if (all[i] == all[value]) continue;
    throw failed_precondition(kWho, std::string("all workers must have the same ") + values[value].name,
                              {{"of worker 0", all[value]}, {"of worker " + std::to_string(worker), all[i]}},
                              values[value].advice);
  }
}

}  // namespace

MultiWorkerRunner::MultiWorkerRunner(std::shared_ptr<collective::Communicator> workers,
                                     std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program,
                                     const WorkerShare& share, const RunnerOptions& options)
    : InStepRunner(std::move(replicas), std::move(program), {.dataset = share.dataset}, options),
      workers_(std::move(workers)),
      share_(share),
      header_(static_cast<std::size_t>(workers_->size()) * kFields),
      exceptions_(std::uncaught_exceptions()) {
  rewinds_alone_ = false;
}

MultiWorkerRunner::~MultiWorkerRunner() {
  if (std::uncaught_exceptions() > exceptions_)
    workers_->abort(workers_->name() + " left the training by an exception");
}

void MultiWorkerRunner::begin_epoch(std::int64_t epoch) {
  InStepRunner::begin_epoch(epoch);
  const std::array values{CommonValue{epoch, "epoch", kSameBackup},
                          CommonValue{next_step_, "step", kSameBackup},
                          CommonValue{static_cast<std::int64_t>(random_.seed), "random seed", kSameBackup},
                          CommonValue{taken_, "number of batches taken", kSameBackup},
                          CommonValue{share_.full_rows, "batch size", kSameData},
                          CommonValue{share_.full_steps, "number of batches", kSameData}};
  check_same(*workers_, values);
}

std::int64_t MultiWorkerRunner::own_rows(bool found) const {
  if (!found) return 0;
  const std::int64_t rows = rows_of_batch(batch_);
  return share_.whole_batches ? rows_of_replica(rows, workers_->size(), workers_->rank()) : rows;
}

bool MultiWorkerRunner::exchange_rows(bool found) {
  const std::array<std::int64_t, kFields> own{found ? 1 : 0, own_rows(found),
                                              found && steps_.takes(batch_, own_rows(true)) ? 1 : 0};
  workers_->all_gather(own.data(), header_.data(), kFields, DType::Int64);
  std::int64_t all = 0;
  // Who puts a step off must not be waited for by the device of another who does not.
  bool any = false, all_record = true;
  for (std::size_t i = 0; i < header_.size(); i += kFields) {
    if (static_cast<int>(i / kFields) == workers_->rank()) rows_before_ = all;
    any = any || header_[i] != 0;
    all += header_[i + 1];
    all_record = all_record && header_[i + 2] != 0;
  }
  steps_.let_record(all_record);
  steps_.set_place(rows_before_, all);
  return any;
}

// All workers know it without asking.
bool MultiWorkerRunner::take_full_batch(bool found) {
  if (taken_ >= share_.full_steps) return false;
  const std::int64_t expected = rows_of_replica(share_.full_rows, workers_->size(), workers_->rank());
  if (!found || own_rows(found) != expected) {
    throw failed_precondition(kWho, "data holds as many batches and rows as it says",
                              {{"step", taken_}, {"rows", own_rows(found)}, {"expected", expected}},
                              "Check what this worker reads.");
  }
  rows_before_ = 0;
  for (int rank = 0; rank < workers_->rank(); ++rank) {
    rows_before_ += rows_of_replica(share_.full_rows, workers_->size(), rank);
  }
  steps_.set_place(rows_before_, share_.full_rows);
  steps_.let_record(std::nullopt);
  fresh_ = false;
  return found_ = true;
}

bool MultiWorkerRunner::agree_on_step(bool found) {
  if (take_full_batch(found)) return true;
  steps_.let_record(false);
  const TimelineSpan span("wait", "agree on a step", next_step_);
  bool any = exchange_rows(found);
  if (!any && next_step_ == 0 && taken_ > 0) {  // the epoch before took the very last batch
    rewind();
    found = next_batch(false);
    any = exchange_rows(found);
  }
  found_ = found;
  if (any) fresh_ = false;
  return any;
}

void MultiWorkerRunner::begin_training() {
  begun_ = true;
  if (program_->kind() != Program::Kind::Train || program_->eager()) return;
  const StepGraph& step = steps_.prepare(dataset_.element_spec());
  check_same_manifest(*workers_, manifest_of(step.traced));
  for (const Tensor& capture : step.traced.captures) {
    if (const auto variable = std::dynamic_pointer_cast<LocalVariable>(capture.resource())) begin_variable(*variable);
  }
}

void MultiWorkerRunner::begin_variable(LocalVariable& variable) {
  const bool apart = variable.options().synchronization == Synchronization::OnRead;
  const Aggregation aggregation = variable.options().aggregation;
  if (apart && aggregation == Aggregation::OnlyFirstReplica) return;  // each replica's own affair
  const Tensor value = variable.shared_value().to_host().clone();
  if (apart && aggregation == Aggregation::Sum) {
    // What has been summed up so far, in an epoch that goes on, counts once.
    std::memset(value.raw(), 0, value.bytes());
  } else {
    broadcast_bytes(*workers_, {static_cast<std::byte*>(value.raw()), value.bytes()});
  }
  if (workers_->rank() > 0) variable.replace_value(value.to(replicas_->device(0)).clone());
}

void MultiWorkerRunner::run_batch(Execution&) {
  if (!begun_) begin_training();
  const TimelineSpan span("compute", "compute", next_step_);
  if (!found_) {
    steps_.give_nothing(dataset_.element_spec());
  } else if (share_.whole_batches) {
    steps_.divide(batch_, rows_before_, own_rows(true));
  } else {
    steps_.divide(batch_);
  }
  steps_.run(dataset_.element_spec(), random_);
  ++taken_;
}

// Sums and means of the workers' own. All of them list the variables in the same order.
void MultiWorkerRunner::gather_from_workers() const {
  const EagerScope eager;
  const DeviceScope host(DeviceSpec::from_string("CPU:0"));
  Variables apart = program_->model().non_trainable_variables();
  for (const Ref<Metric>& metric : program_->model().metrics()) {
    apart.insert(apart.end(), metric->variables().begin(), metric->variables().end());
  }
  for (const Variable& each : apart) {
    const auto variable = std::dynamic_pointer_cast<LocalVariable>(each.body());
    if (!variable || each.synchronization() != Synchronization::OnRead) continue;
    Tensor value = variable->shared_value().to_host().clone();
    workers_->all_reduce(value.raw(), value.num_elements(), value.dtype());
    if (each.aggregation() == Aggregation::Mean) {
      value = ops::cast(value / static_cast<double>(workers_->size()), value.dtype());
    }
    replicas_->variables().set_whole(*variable, value);
  }
}

Logs MultiWorkerRunner::end_epoch() {
  synchronize();
  gather_from_workers();
  return InStepRunner::end_epoch();
}

// Every worker's: a saved one holds what all of them have summed up.
Position MultiWorkerRunner::position() const {
  gather_from_workers();
  return InStepRunner::position();
}

RunSignals MultiWorkerRunner::agree(const RunSignals& own) {
  std::array<std::int32_t, 3> wanted{own.stop, own.interrupted, own.terminated};
  workers_->all_reduce(wanted.data(), static_cast<std::int64_t>(wanted.size()), DType::Int32);
  return {.stop = wanted[0] > 0, .interrupted = wanted[1] > 0, .terminated = wanted[2] > 0};
}

void MultiWorkerRunner::rewind() {
  InStepRunner::rewind();
  ++passes_;
  taken_ = 0;
}

// Every worker has taken as many elements of its own share.
std::string MultiWorkerRunner::save_data() const {
  std::string state;
  StateWriter writer(state);
  writer.number(share_.any_number_of_workers ? 0 : static_cast<std::uint64_t>(workers_->size()));
  writer.number(static_cast<std::uint64_t>(passes_));
  writer.number(static_cast<std::uint64_t>(taken_));
  return state;
}

void MultiWorkerRunner::restore_data(const std::string& state) {
  iterator_ = dataset_.make_iterator();
  passes_ = taken_ = 0;
  if (state.empty()) return;
  StateReader reader(state);
  const std::uint64_t workers = reader.number(), passes = reader.number(), taken = reader.number();
  reader.finish();
  if (workers != 0 && workers != static_cast<std::uint64_t>(workers_->size())) {
    throw failed_precondition(kWho, "data that each worker reads by itself goes on with as many workers",
                              {{"workers of the backup", workers}, {"workers", workers_->size()}},
                              "Start as many, or give fit a Dataset that is divided by elements.");
  }
  for (std::uint64_t pass = 0; pass < passes; ++pass) rewind();
  iterator_->skip(taken);
  taken_ = static_cast<std::int64_t>(taken);
  fresh_ = taken == 0;
}

}  // namespace cohort::distribute
