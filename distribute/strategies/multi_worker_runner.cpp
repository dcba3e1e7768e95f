#include "cohort/distribute/strategies/multi_worker_runner.h"

#include <array>
#include <exception>

#include "cohort/core/error.h"
#include "cohort/core/timeline.h"
#include "cohort/data/iterator_state.h"
#include "cohort/distribute/strategies/batch_rows.h"
#include "cohort/distribute/strategies/worker_variables.h"

namespace cohort::distribute {
namespace {

constexpr const char* kWho = "MultiWorkerMirroredStrategy";
constexpr std::size_t kFields = 2;  // of a step's header

// Values that all workers must have in common.
void check_same(collective::Communicator& workers, std::int64_t own, const char* what) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(workers.size()));
  workers.all_gather(&own, all.data(), 1, DType::Int64);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == all[0]) continue;
    throw failed_precondition(kWho, std::string("all workers must have the same ") + what,
                              {{"of worker 0", all[0]}, {"of worker " + std::to_string(i), all[i]}},
                              "Workers go on from the backup that they all see, or none does.");
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
  check_same(*workers_, epoch, "epoch");
  check_same(*workers_, next_step_, "step");
  check_same(*workers_, static_cast<std::int64_t>(random_.seed), "random seed");
}

std::int64_t MultiWorkerRunner::own_rows(bool found) const {
  if (!found) return 0;
  const std::int64_t rows = rows_of_batch(batch_);
  return share_.whole_batches ? rows_of_replica(rows, workers_->size(), workers_->rank()) : rows;
}

bool MultiWorkerRunner::exchange_rows(bool found) {
  const std::array<std::int64_t, kFields> own{found ? 1 : 0, own_rows(found)};
  workers_->all_gather(own.data(), header_.data(), kFields, DType::Int64);
  std::int64_t all = 0;
  bool any = false;
  for (std::size_t i = 0; i < header_.size(); i += kFields) {
    if (static_cast<int>(i / kFields) == workers_->rank()) rows_before_ = all;
    any = any || header_[i] != 0;
    all += header_[i + 1];
  }
  steps_.set_place(rows_before_, all);
  return any;
}

bool MultiWorkerRunner::agree_on_step(bool found) {
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
  begin_in_step(*workers_, *replicas_, steps_.prepare(dataset_.element_spec()).traced);
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

void MultiWorkerRunner::gather_from_workers() const { gather_over_workers(*workers_, *replicas_, program_->model()); }

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
