#include "cohort/saving/checkpoint_manager.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/saving/checkpoint/checkpoint_files.h"

namespace cohort {
namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

CheckpointManagerOptions checked_manager_options(CheckpointManagerOptions options, const std::string& directory) {
  constexpr const char* kManager = "CheckpointManager";
  if (directory.empty()) throw invalid_argument(kManager, "directory must name a folder", {{"directory", "''"}});
  if (options.max_to_keep && *options.max_to_keep < 1) {
    throw invalid_argument(kManager, "max_to_keep must be positive, or nullopt to keep all",
                           {{"max_to_keep", *options.max_to_keep}});
  }
  const std::string& name = options.checkpoint_name;
  if (name.empty() || name == "checkpoint" || name.find('/') != std::string::npos) {
    throw invalid_argument(kManager, "checkpoint_name must be the beginning of a file's name, other than 'checkpoint'",
                           {{"checkpoint_name", in_quotes(name)}});
  }
  if (options.checkpoint_interval && !options.step_counter.defined()) {
    throw invalid_argument(kManager, "with checkpoint_interval a step_counter is needed",
                           {{"checkpoint_interval", *options.checkpoint_interval}});
  }
  return options;
}

}  // namespace

// What is in the folder; also used by the thread that writes.
class CheckpointManager::Folder {
 public:
  Folder(std::string directory, const CheckpointManagerOptions& options)
      : directory_(std::move(directory)),
        name_(options.checkpoint_name),
        max_to_keep_(options.max_to_keep),
        keep_every_(options.keep_checkpoint_every_n_hours) {
    remove_unfinished_checkpoints(directory_, name_);
    recover();
  }

  // A checkpoint is there: takes older ones away and lists what is left. Killed in between, recover() finds it.
  void add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::erase_if(state_.all, [&](const CheckpointState::Entry& entry) { return entry.name == name; });
    state_.all.push_back({name, clock_seconds()});
    state_.latest = name;
    sweep();
    write_checkpoint_state(directory_, state_);
  }

  void clear() {
    std::vector<std::string> names = candidates();
    const std::lock_guard lock(mutex_);
    for (auto oldest = names.rbegin(); oldest != names.rend(); ++oldest) remove_checkpoint_files(path_of(*oldest));
    state_ = {.last_preserved = state_.last_preserved};
    remove_checkpoint_state(directory_);
    std::error_code something_is_in_it;
    std::filesystem::remove(directory_, something_is_in_it);
  }

  void set_latest(const std::string& name) {
    const std::lock_guard lock(mutex_);
    state_.latest = name;
  }
  std::string latest() const {
    const std::lock_guard lock(mutex_);
    return state_.latest;
  }
  std::vector<std::string> managed() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const CheckpointState::Entry& entry : state_.all) names.push_back(entry.name);
    return names;
  }
  // All there are, the newest first: those that are managed, then those that stay for good.
  std::vector<std::string> candidates() const {
    std::vector<std::string> names = managed();
    std::reverse(names.begin(), names.end());
    const auto latest_one = std::find(names.begin(), names.end(), latest());
    if (latest_one != names.end()) std::rotate(names.begin(), latest_one, latest_one + 1);
    const std::vector<std::string> all = checkpoints_in(directory_, name_);
    for (auto each = all.rbegin(); each != all.rend(); ++each) {
      if (std::find(names.begin(), names.end(), *each) == names.end()) names.push_back(*each);
    }
    return names;
  }
  std::int64_t highest_number() const {
    const std::vector<std::string> all = checkpoints_in(directory_, name_);
    return all.empty() ? 0 : checkpoint_number(all.back());
  }
  std::string path_of(const std::string& name) const { return (std::filesystem::path(directory_) / name).string(); }

 private:
  void recover() {
    const double now = clock_seconds();
    const std::vector<std::string> there = checkpoints_in(directory_, name_);
    if (auto recorded = read_checkpoint_state(directory_))
      state_ = std::move(*recorded);
    else
      state_.last_preserved = now - 1.0;
    // A clock that was set back must not make old ones look preserved for long.
    state_.last_preserved = std::min(state_.last_preserved, now);
    std::erase_if(state_.all, [&](CheckpointState::Entry& entry) {
      entry.time = std::min(entry.time, now);
      return entry.time <= state_.last_preserved || std::find(there.begin(), there.end(), entry.name) == there.end();
    });
    // The last writer may have been killed before it could list its checkpoint.
    const std::int64_t listed = checkpoint_number(state_.latest);
    for (const std::string& name : there) {
      if (checkpoint_number(name) > listed) state_.all.push_back({name, now});
    }
    if (state_.all.empty())
      state_.latest = there.empty() ? "" : there.back();
    else
      state_.latest = state_.all.back().name;
  }

  void sweep() {
    while (max_to_keep_ && static_cast<std::int64_t>(state_.all.size()) > *max_to_keep_) {
      const CheckpointState::Entry oldest = state_.all.front();
      state_.all.erase(state_.all.begin());
      if (keep_every_ && oldest.time - *keep_every_ * 3600.0 >= state_.last_preserved) {
        state_.last_preserved = oldest.time;
        continue;
      }
      try {
        remove_checkpoint_files(path_of(oldest.name));
      } catch (const Error& error) {
        log::warn(error.what());  // the new one is safe all the same
      }
    }
  }

  const std::string directory_, name_;
  const std::optional<std::int64_t> max_to_keep_;
  const std::optional<double> keep_every_;
  mutable std::mutex mutex_;
  CheckpointState state_;
};

CheckpointManager::CheckpointManager(Checkpoint& checkpoint, std::string directory, CheckpointManagerOptions options)
    : checkpoint_(checkpoint),
      directory_(std::move(directory)),
      options_(checked_manager_options(std::move(options), directory_)),
      folder_(std::make_shared<Folder>(directory_, options_)) {}

CheckpointManager::~CheckpointManager() {
  try {
    checkpoint_.sync();
  } catch (const std::exception& error) {
    log::error(std::string("CheckpointManager: the last checkpoint was not written. ") + error.what());
  }
}

bool CheckpointManager::interval_passed(bool check_interval) {
  if (!options_.checkpoint_interval) return true;
  const auto step = read_now(options_.step_counter).item<std::int64_t>();
  if (last_checkpoint_step_) {
    if (step == *last_checkpoint_step_) return false;
    if (check_interval && step < *last_checkpoint_step_ + *options_.checkpoint_interval) return false;
  }
  last_checkpoint_step_ = step;
  return true;
}

std::optional<std::string> CheckpointManager::save(const CheckpointMoment& moment,
                                                   std::optional<std::int64_t> checkpoint_number, bool check_interval) {
  if (checkpoint_number && *checkpoint_number < 0) {
    throw invalid_argument("CheckpointManager", "checkpoint_number must not be negative",
                           {{"checkpoint_number", *checkpoint_number}});
  }
  const std::optional<std::int64_t> step_before = last_checkpoint_step_;
  if (!interval_passed(check_interval)) return std::nullopt;
  try {
    checkpoint_.sync();
    const std::int64_t number =
        checkpoint_number.value_or(std::max(checkpoint_.save_counter(), folder_->highest_number()) + 1);
    const std::string name = options_.checkpoint_name + "-" + std::to_string(number);
    return checkpoint_.write_numbered(folder_->path_of(name), number, moment,
                                      [folder = folder_, name] { folder->add(name); });
  } catch (...) {
    last_checkpoint_step_ = step_before;  // nothing was saved
    throw;
  }
}

std::optional<RestoredCheckpoint> CheckpointManager::restore_or_initialize(RestoreOptions options) {
  checkpoint_.sync();
  std::string last_problem;
  for (const std::string& name : folder_->candidates()) {
    const std::string path = folder_->path_of(name);
    try {
      RestoredCheckpoint restored = checkpoint_.restore(path, options);
      folder_->set_latest(name);
      if (options_.checkpoint_interval) last_checkpoint_step_ = read_now(options_.step_counter).item<std::int64_t>();
      if (!last_problem.empty()) log::warn("CheckpointManager: '" + path + "' is restored instead.");
      return restored;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::DataLoss && error.code() != ErrorCode::NotFound) throw;
      last_problem = error.what();
      log::warn("CheckpointManager: '" + path + "' cannot be used. " + last_problem);
    }
  }
  if (!last_problem.empty()) {
    throw Error(ErrorCode::DataLoss, "CheckpointManager", "at least one checkpoint of the folder must be whole",
                {{"directory", directory_}, {"problem", last_problem}}, "Remove the folder to begin anew.");
  }
  if (options_.init_fn) options_.init_fn();
  return std::nullopt;
}

void CheckpointManager::clear() {
  checkpoint_.sync();
  folder_->clear();
}

std::optional<std::string> CheckpointManager::latest_checkpoint() const {
  const std::string name = folder_->latest();
  if (name.empty()) return std::nullopt;
  return folder_->path_of(name);
}

std::vector<std::string> CheckpointManager::checkpoints() const {
  std::vector<std::string> paths;
  for (const std::string& name : folder_->managed()) paths.push_back(folder_->path_of(name));
  return paths;
}

}  // namespace cohort
