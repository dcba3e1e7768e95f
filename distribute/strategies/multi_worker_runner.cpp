#include "cohort/distribute/strategies/multi_worker_runner.h"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/timeline.h"
#include "cohort/data/iterator_state.h"
#include "cohort/distribute/collective/batch_rows.h"
#include "cohort/distribute/strategies/worker_agreement.h"
#include "cohort/distribute/strategies/worker_variables.h"

namespace cohort::distribute {
namespace {

constexpr const char* kWho = "MultiWorkerMirroredStrategy";
constexpr std::size_t kFields = 3;  // of a step's header

constexpr const char* kSameBackup = "Workers go on from the backup that they all see, or none does.";
constexpr const char* kSameData =
    "Give fit the same dataset on all workers, or a DatasetCreator for data of their own.";
constexpr const char* kSameProgram = "Start all workers with the same binary and the same arguments.";

}  // namespace

MultiWorkerRunner::MultiWorkerRunner(std::shared_ptr<collective::Communicator> workers,
                                     std::shared_ptr<ReplicaSet> replicas, std::shared_ptr<Program> program,
                                     const WorkerShare& share, const RunnerOptions& options)
    : InStepRunner(std::move(replicas), std::move(program), {.dataset = share.dataset}, options),
      workers_(std::move(workers)),
      share_(share),
      run_options_(options),
      header_(static_cast<std::size_t>(workers_->size()) * kFields),
      others_wait_(trains()),
      exceptions_(std::uncaught_exceptions()) {
  rewinds_alone_ = false;
}

MultiWorkerRunner::~MultiWorkerRunner() {
  if (!others_wait_ || std::uncaught_exceptions() <= exceptions_) return;
  workers_->abort(trains() ? "left the training by an exception" : "left an evaluation by an exception");
}

void MultiWorkerRunner::begin_epoch(std::int64_t epoch) {
  others_wait_ = true;
  InStepRunner::begin_epoch(epoch);
  others_wait_ = false;
  check_same_values(*workers_, {{"epoch", epoch, kSameBackup},
                                {"step", next_step_, kSameBackup},
                                {"random seed", static_cast<std::int64_t>(random_.seed), kSameProgram},
                                {"number of batches taken", taken_, kSameBackup},
                                {"batch size", share_.batch_size, kSameData},
                                {"number of batches", share_.steps, kSameData},
                                {"number of rows of a full batch", share_.full_rows, kSameData},
                                {"number of full batches", share_.full_steps, kSameData},
                                {"number of steps per epoch", run_options_.steps_per_epoch.value_or(-1), kSameProgram},
                                {"steps_per_execution", run_options_.steps_per_execution, kSameProgram}});
  others_wait_ = true;
}

std::int64_t MultiWorkerRunner::rows_of_worker(int worker) const {
  const std::int64_t rows = header_[static_cast<std::size_t>(worker) * kFields + 1];
  return share_.whole_batches ? rows_of_replica(rows, workers_->size(), worker) : rows;
}

bool MultiWorkerRunner::exchange_rows(bool found) {
  const std::int64_t rows = found ? rows_of_batch(batch_) : 0;
  const std::int64_t taken = share_.whole_batches ? rows_of_replica(rows, workers_->size(), workers_->rank()) : rows;
  const std::array<std::int64_t, kFields> own{found ? 1 : 0, rows, found && steps_.takes(batch_, taken) ? 1 : 0};
  others_wait_ = false;
  workers_->all_gather(own.data(), header_.data(), kFields, DType::Int64);
  if (share_.any_number_of_workers) check_rows();
  others_wait_ = true;
  std::int64_t all = 0;
  // Who puts a step off must not be waited for by the device of another who does not.
  bool any = false, all_record = true;
  for (int worker = 0; worker < workers_->size(); ++worker) {
    const std::size_t fields = static_cast<std::size_t>(worker) * kFields;
    if (worker == workers_->rank()) rows_before_ = all;
    any = any || header_[fields] != 0;
    all += rows_of_worker(worker);
    all_record = all_record && header_[fields + 2] != 0;
  }
  steps_.let_record(all_record);
  steps_.set_place(rows_before_, all);
  return any;
}

// Of the same dataset all have the whole batch; or each has all of its rows, but for the last batch, which ends with
// some worker.
void MultiWorkerRunner::check_rows() {
  const std::int64_t first = header_[1];
  int ended = cut_by_;
  for (int worker = 0; worker < workers_->size(); ++worker) {
    const std::int64_t rows = header_[static_cast<std::size_t>(worker) * kFields + 1];
    const bool divided = !share_.rows_of_workers.empty();
    const std::int64_t expected = divided ? share_.rows_of_workers[static_cast<std::size_t>(worker)] : first;
    if (divided ? rows > (ended >= 0 ? 0 : expected) : rows != first) {
      const int other = std::max(ended, 0);
      throw failed_precondition(
          kWho, "all workers must read the same data, in the same order",
          {{"step", next_step_},
           {"rows of " + workers_->name_of(other), header_[static_cast<std::size_t>(other) * kFields + 1]},
           {"rows of " + workers_->name_of(worker), rows}},
          kSameData);
    }
    if (divided && rows < expected && ended < 0) ended = worker;
  }
  cut_by_ = ended;
}

// All workers know it without asking.
bool MultiWorkerRunner::take_full_batch(bool found) {
  if (taken_ >= share_.full_steps) return false;
  for (std::size_t worker = 0; worker < header_.size() / kFields; ++worker) {
    header_[worker * kFields] = 1;
    header_[worker * kFields + 1] = share_.whole_batches ? share_.full_rows : share_.rows_of_workers[worker];
  }
  const std::int64_t rows = found ? rows_of_batch(batch_) : 0;
  const std::int64_t expected = header_[static_cast<std::size_t>(workers_->rank()) * kFields + 1];
  if (rows != expected) {
    throw failed_precondition(kWho, "data must hold as many batches and rows as it says",
                              {{"step", taken_}, {"rows", rows}, {"expected", expected}},
                              "Check what this worker reads.");
  }
  rows_before_ = 0;
  for (int worker = 0; worker < workers_->rank(); ++worker) rows_before_ += rows_of_worker(worker);
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
  if (!trains()) return;
  if (program_->eager()) {
    take_first_values(*workers_, *replicas_, variables_apart(program_->model()));
  } else {
    const StepGraph& step = steps_.prepare(dataset_.element_spec());
    const std::string manifest = manifest_of(step.traced);
    others_wait_ = false;
    check_same_manifest(*workers_, manifest);
    others_wait_ = true;
    take_first_values(*workers_, *replicas_, variables_of(step.traced));
  }
  restore_own_values();
}

void MultiWorkerRunner::run_batch(Execution&) {
  if (!begun_) begin_training();
  const TimelineSpan span("compute", "compute", next_step_);
  if (!found_) {
    steps_.give_nothing(dataset_.element_spec());
  } else if (share_.whole_batches) {
    steps_.divide(batch_, rows_before_, rows_of_worker(workers_->rank()));
  } else {
    steps_.divide(batch_);
  }
  steps_.run(dataset_.element_spec(), random_);
  ++taken_;
}

void MultiWorkerRunner::gather_from_workers() const { gather_over_workers(*workers_, *replicas_, program_->model()); }

void MultiWorkerRunner::gather() {
  synchronize();
  gather_from_workers();
}

Logs MultiWorkerRunner::end_epoch() {
  gather();
  others_wait_ = trains();
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
  const RunSignals agreed{.stop = wanted[0] > 0, .interrupted = wanted[1] > 0, .terminated = wanted[2] > 0};
  others_wait_ = trains() || !agreed.interrupted;
  return agreed;
}

void MultiWorkerRunner::rewind() {
  InStepRunner::rewind();
  ++passes_;
  taken_ = 0;
  cut_by_ = -1;
}

// Every worker has taken as many elements of its own share.
std::string MultiWorkerRunner::save_data() const {
  const std::string own = own_values(/*counts_once=*/workers_->rank() == 0);
  std::string all(own.size() * static_cast<std::size_t>(workers_->size()), '\0');
  workers_->all_gather(own.data(), all.data(), static_cast<std::int64_t>(own.size()), DType::UInt8);
  std::string state;
  StateWriter writer(state);
  writer.number(share_.any_number_of_workers);
  writer.number(static_cast<std::uint64_t>(workers_->size()));
  writer.number(static_cast<std::uint64_t>(replicas_->size()));
  writer.number(static_cast<std::uint64_t>(passes_));
  writer.number(static_cast<std::uint64_t>(taken_));
  writer.bytes(all);
  return state;
}

void MultiWorkerRunner::restore_data(const std::string& state) {
  iterator_ = dataset_.make_iterator();
  passes_ = taken_ = 0;
  if (state.empty()) return;
  StateReader reader(state);
  const bool any_number = reader.number() != 0;
  const std::uint64_t workers = reader.number(), replicas = reader.number();
  const std::uint64_t passes = reader.number(), taken = reader.number();
  const std::string_view values = reader.bytes();
  reader.finish();
  const bool as_many = workers == static_cast<std::uint64_t>(workers_->size());
  if (!as_many && !any_number) {
    throw failed_precondition(kWho, "data that each worker reads by itself goes on with as many workers",
                              {{"workers of the backup", workers}, {"workers", workers_->size()}},
                              "Start as many, or give fit a Dataset that is divided by elements.");
  }
  if (as_many && replicas == static_cast<std::uint64_t>(replicas_->size())) {
    const std::size_t bytes = values.size() / workers;
    own_values_ = values.substr(static_cast<std::size_t>(workers_->rank()) * bytes, bytes);
  }
  for (std::uint64_t pass = 0; pass < passes; ++pass) rewind();
  iterator_->skip(taken);
  taken_ = static_cast<std::int64_t>(taken);
  fresh_ = taken == 0;
}

}  // namespace cohort::distribute
