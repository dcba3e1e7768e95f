#include "cohort/distribute/coordinator/pending_releases.h"

#include <iterator>
#include <utility>

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {
namespace {

template <class Items>
void append(Items& to, Items& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

proto::ReleaseProto describe_releases(const Releases& releases) {
  proto::ReleaseProto metadata;
  metadata.mutable_datasets()->Add(releases.datasets.begin(), releases.datasets.end());
  metadata.mutable_functions()->Add(releases.functions.begin(), releases.functions.end());
  for (const std::string& name : releases.variables) metadata.add_variables(name);
  return metadata;
}

// Without memory for a note a task keeps what it has until the job ends.
template <class Add>
void PendingReleases::note(Task& task, const Add& add) noexcept {
  try {
    add(task.releases);
    task.any.store(true, std::memory_order_release);
  } catch (...) {
  }
}

void PendingReleases::dataset(int number) noexcept {
  std::lock_guard lock(mutex_);
  for (Task& worker : workers_) note(worker, [&](Releases& of) { of.datasets.push_back(number); });
}

void PendingReleases::function(std::uint64_t handle) noexcept {
  const auto add = [&](Releases& of) { of.functions.push_back(handle); };
  std::lock_guard lock(mutex_);
  for (Task& worker : workers_) note(worker, add);
  for (Task& ps : ps_) note(ps, add);
}

void PendingReleases::variable_named(const std::string& name) {
  std::lock_guard lock(mutex_);
  ++names_[name];
}

void PendingReleases::variable_unnamed(const std::string& name, int ps) noexcept {
  const auto add = [&](Releases& of) { of.variables.push_back(name); };
  std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end() || --found->second > 0) return;
  names_.erase(found);
  if (ps >= 0) return note(ps_[static_cast<std::size_t>(ps)], add);
  for (Task& each : ps_) note(each, add);
}

void PendingReleases::put_back_for_ps(std::size_t index, Releases releases) noexcept {
  std::lock_guard lock(mutex_);
  note(ps_[index], [&](Releases& of) {
    append(of.functions, releases.functions);
    append(of.variables, releases.variables);
  });
}

void PendingReleases::add_worker() {
  std::lock_guard lock(mutex_);
  workers_.emplace_back();
}

PendingReleases::Task& PendingReleases::worker(std::size_t index) {
  std::lock_guard lock(mutex_);
  return workers_[index];
}

Releases PendingReleases::take(Task& task) {
  if (!task.any.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(mutex_);
  task.any.store(false, std::memory_order_release);
  return std::exchange(task.releases, {});
}

}  // namespace cohort::distribute
