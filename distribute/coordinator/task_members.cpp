// The workers of TaskConnections, which may come and go.
#include <algorithm>
#include <map>
#include <utility>

#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/coordinator/task_connections.h"

namespace cohort::distribute {

int TaskConnections::num_slots() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(workers_.size());
}

TaskConnections::WorkerTask& TaskConnections::worker_task(int index) {
  std::lock_guard lock(mutex_);
  return workers_.at(static_cast<std::size_t>(index));
}

const TaskConnections::WorkerTask& TaskConnections::worker_task(int index) const {
  return const_cast<TaskConnections&>(*this).worker_task(index);
}

rpc::Peer TaskConnections::worker(int index) const {
  std::lock_guard lock(mutex_);
  const WorkerTask& of = workers_.at(static_cast<std::size_t>(index));
  return {of.task, of.address};
}

const std::atomic<bool>& TaskConnections::presence_of(int index) const { return worker_task(index).present; }

std::vector<int> TaskConnections::present() const {
  std::lock_guard lock(mutex_);
  std::vector<int> indices;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].present) indices.push_back(static_cast<int>(i));
  }
  return indices;
}

std::uint64_t TaskConnections::member_generation() const {
  std::lock_guard lock(mutex_);
  return member_generation_;
}

TaskConnections::WorkerTask& TaskConnections::add_worker(const std::string& task) {
  releases_->add_worker();
  workers_.emplace_back();
  workers_.back().task = task;
  return workers_.back();
}

// One that the cluster lists is always looked for: at its address there when it has not joined at another.
std::vector<int> TaskConnections::set_members(const MemberList& list) {
  std::map<std::string, std::string> addresses;
  for (const Member& member : list.members) addresses[task_name(kWorker, member.index)] = member.address;
  std::vector<Greeted> let_go;  // without the lock
  std::lock_guard lock(mutex_);
  member_generation_ = list.generation;
  std::vector<int> moved;
  int count = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    WorkerTask& worker = workers_[i];
    const auto joined = addresses.find(worker.task);
    const std::string& address = joined == addresses.end() ? worker.listed : joined->second;
    if (!address.empty() && address != worker.address) {
      worker.address = address;
      let_go.push_back(std::exchange(worker.greeted, {}));
      moved.push_back(static_cast<int>(i));
    }
    worker.present = !address.empty();
    count += worker.present;
    if (joined != addresses.end()) addresses.erase(joined);
  }
  for (const auto& [task, address] : addresses) {
    // Each has a thread for as long as the job runs.
    if (workers_.size() >= kMostMembers) break;
    add_worker(task).address = address;
    ++count;
  }
  present_count_ = std::max(count, 1);
  return moved;
}

}  // namespace cohort::distribute
