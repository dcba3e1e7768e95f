#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cohort/callbacks/backup_and_restore.h"
#include "cohort/model/model.h"

namespace cohort::test {

// What a run was doing, in the order of a program's life.
enum class RunPhase : int { Starting, Training, Validating, BackingUp, SavingModel, SavingWeights, Ending, kCount };
const char* to_string(RunPhase phase);

// A page that a run shares with whoever may kill it.
struct RunReport {
  std::atomic<RunPhase> phase{RunPhase::Starting};
  std::atomic<std::int64_t> resumed_at{-1};  // place_of() where it began; -1 while it has not
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<RunPhase>::is_always_lock_free);

// A place in a run as one number that grows.
inline std::int64_t place_of(std::int64_t epoch, std::int64_t step) { return epoch * 1000 + step; }

inline constexpr int kRunEpochs = 4;

// How a run keeps its state.
struct KilledRunSetting {
  callbacks::BackupAndRestoreOptions backup = {};
  std::int64_t save_weights_every = 7;  // batches
};

// A training run in which everything has a part that a restart must bring back (shuffling, dropout, a learning rate
// that falls, metrics, validation, several steps per execution), and which spends much of its time writing files: the
// backup, the model as .keras after each epoch, the weights as .weights.h5 every few batches. It goes on where the
// last run in the same folder was cut off. Returns the fingerprint of weights and optimizer at its end.
std::uint64_t killed_run(const KilledRunSetting& setting, const std::string& folder, RunReport& report);

// What the weights are at each place of the run that is never killed, and what it ends with.
struct UnbrokenRun {
  std::map<std::int64_t, std::uint64_t> weights;
  std::uint64_t end = 0;
  std::unique_ptr<Model> model;  // files are read into it
};
UnbrokenRun unbroken_run();

// Every file under a final name must be whole and hold the weights of its place; expects it. Returns the place a
// restart goes on from, 0 when there is no backup yet.
std::int64_t check_files(const std::string& folder, const UnbrokenRun& truth);

// Files that somebody began to write and left.
int unfinished_files(const std::string& folder);

}  // namespace cohort::test
