#include "cohort/distribute/coordinator/task_connections.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/coordinator/collected_errors.h"
#include "cohort/distribute/coordinator/side_by_side.h"
#include "cohort/distribute/coordinator/worker_link.h"
#include "cohort/distribute/protocol/cluster_message.h"
#include "cohort/files/crc32c.h"

namespace cohort::distribute {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenTries{50}, kBetweenTables{2000}, kBetweenLooksAtLinks{5000},
    kLeastForAFence{1000};

// Short, and the same whenever a program meets the same parameter servers: workers come and go, and not everybody lists
// the chief.
std::string name_of(const ClusterSpec& spec) {
  std::string servers;
  for (const ClusterTask& task : serving_tasks(spec)) {
    if (task.job == kPs) servers += task.address + " ";
  }
  char text[32];
  std::snprintf(text, sizeof text, "job-%08x", crc32c(servers.empty() ? spec.as_text() : servers));
  return text;
}

TaskConnectionOptions completed(TaskConnectionOptions options, const ClusterSpec& spec, std::uint64_t job) {
  options.transport.caller = job;
  if (options.job_name.empty()) options.job_name = name_of(spec);
  return options;
}

}  // namespace

TaskConnections::TaskConnections(ClusterSpec spec, TaskConnectionOptions options)
    : spec_(std::move(spec)), job_(new_identity()), options_(completed(std::move(options), spec_, job_)) {
  std::size_t num_ps = 0;
  for (const ClusterTask& task : serving_tasks(spec_)) num_ps += task.job == kPs;
  releases_ = std::make_shared<PendingReleases>(0, num_ps);
  for (const ClusterTask& task : serving_tasks(spec_)) {
    if (task.job == kWorker) {
      WorkerTask& worker = add_worker(task.name());
      worker.address = worker.listed = task.address;
    } else {
      ps_tasks_.push_back(std::make_unique<ParameterServerConnection>());
      ps_tasks_.back()->peer = {task.name(), task.address};
    }
  }
  present_count_ = static_cast<int>(workers_.size());
  wait_for_tasks();
  compare_devices();
  for (const auto& ps : ps_tasks_) {
    ps->connection = rpc::connect(ps->peer, options_.transport);
    ps->stream =
        std::make_unique<rpc::ReliableStream>(ps->connection, rpc::RetryBudget{.silence = options_.ps_lost_after});
  }
  if (const std::string known = ways(); !known.empty()) log::info("ParameterServerStrategy: " + known + ".");
  keeper_ = std::thread([this] { keep_links(); });
}

std::string TaskConnections::ways() const {
  std::map<std::string, std::string> tasks;
  const auto add = [&](const rpc::Connection& connection) {
    if (connection.transport() == std::string_view("in process")) return;
    std::string& list = tasks[connection.transport()];
    list += (list.empty() ? " to " : ", ") + connection.peer().task;
  };
  for (const auto& ps : ps_tasks_) add(*ps->connection);
  for (const WorkerTask& worker : workers_) {
    if (worker.greeted.connection) add(*worker.greeted.connection);
  }
  std::string text;
  for (const auto& [way, list] : tasks) text += (text.empty() ? "" : ", ") + way + list;
  return text;
}

void TaskConnections::keep_links() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, kBetweenLooksAtLinks, [this] { return stopping_; })) {
    lock.unlock();
    renew_links();
    lock.lock();
  }
}

// Who cannot be reached is somebody else's concern.
void TaskConnections::renew_links() {
  for (const auto& ps : ps_tasks_) {
    try {
      if (!ps->connection->alive()) ps->connection->open();
    } catch (const Error&) {
    }
  }
  for (int index = 0; index < num_slots(); ++index) {
    std::shared_ptr<rpc::Connection> unused;
    {
      std::lock_guard lock(mutex_);
      unused = workers_[static_cast<std::size_t>(index)].greeted.connection;
    }
    try {
      if (unused && !unused->alive()) unused->open();
    } catch (const Error&) {
    }
  }
}

TaskConnections::Greeted TaskConnections::greet(const rpc::Peer& peer, const rpc::TransportOptions& transport,
                                                std::uint64_t epoch, std::uint64_t recoveries) const {
  auto connection = rpc::connect(peer, transport);
  proto::HelloProto hello;
  hello.set_protocol(kProtocolVersion);
  const auto colon = peer.task.find(':');
  hello.set_job_name(peer.task.substr(0, colon));
  hello.set_task_index(std::stoll(peer.task.substr(colon + 1)));
  hello.set_from("chief");
  hello.set_led_job(options_.job_name);
  hello.set_job_key(options_.job_key);
  hello.set_take_over(options_.take_over);
  hello.set_dead_after(static_cast<std::uint32_t>(options_.transport.dead_after.count()));
  hello.set_ps_retry(static_cast<std::uint32_t>(options_.ps_retry.count()));
  hello.set_recoveries(recoveries);
  write_cluster(spec_, hello);
  const auto reply =
      distribute::call<Method::Hello>(*connection->open(), {.job = job_, .incarnation = job_, .epoch = epoch}, hello);
  return {std::move(connection), reply.head.incarnation, std::max(1, reply.metadata.devices())};
}

struct TaskConnections::Missing {
  rpc::Peer peer;
  int worker = -1;  // its number; a ps has none
  int ps = -1;
  std::string reason = {};
};

std::vector<TaskConnections::Missing> TaskConnections::missing_tasks() const {
  std::vector<Missing> missing;
  for (std::size_t i = 0; i < ps_tasks_.size(); ++i) {
    if (!ps_tasks_[i]->greeted) missing.push_back({.peer = ps_tasks_[i]->peer, .ps = static_cast<int>(i)});
  }
  for (const int index : present()) {
    if (!worker_task(index).greeted.connection) missing.push_back({.peer = worker(index), .worker = index});
  }
  return missing;
}

void TaskConnections::greet_missing(Missing& task, std::chrono::milliseconds left) {
  rpc::TransportOptions transport = options_.transport;
  transport.connect_timeout = std::clamp(left, std::chrono::milliseconds(50), transport.connect_timeout);
  try {
    Greeted greeted = greet(task.peer, transport, epoch_, 0);
    if (task.ps >= 0) {
      ps_tasks_[static_cast<std::size_t>(task.ps)]->greeted = true;
      return;
    }
    WorkerTask& worker = worker_task(task.worker);
    worker.greeted = std::move(greeted);
    worker.met = true;
  } catch (const rpc::RpcError& error) {
    task.reason = error.reason();
  }
}

// Workers that may come later are not waited for, once there is one.
bool TaskConnections::all_are_there(const std::vector<Missing>& missing) const {
  if (!options_.workers_may_join) return missing.empty();
  const auto is_ps = [](const Missing& task) { return task.ps >= 0; };
  const auto greeted = [](const WorkerTask& worker) { return worker.greeted.connection != nullptr; };
  return std::none_of(missing.begin(), missing.end(), is_ps) && std::any_of(workers_.begin(), workers_.end(), greeted);
}

void TaskConnections::look_into_book(std::shared_ptr<rpc::Connection>& keeper) {
  try {
    if (!keeper || !keeper->alive()) keeper = rpc::connect(first_ps(), transport());
    set_members(ask_members(*keeper->open(), 0, {}));
  } catch (const rpc::RpcError&) {  // it is not there yet, which is said of it as of the others
    keeper.reset();
  }
}

void TaskConnections::wait_for_tasks() {
  const auto started = Clock::now();
  auto last_table = started;
  std::shared_ptr<rpc::Connection> keeper;
  for (;;) {
    if (options_.workers_may_join) look_into_book(keeper);
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(started + options_.start_timeout - Clock::now());
    std::vector<Missing> missing = missing_tasks();
    for (Missing& task : missing) greet_missing(task, left);
    std::erase_if(missing, [](const Missing& task) { return task.reason.empty(); });
    if (all_are_there(missing)) return;
    const std::size_t all = ps_tasks_.size() + present().size();
    std::string table = std::to_string(all - missing.size()) + "/" + std::to_string(all) + " joined, missing";
    for (std::size_t i = 0; i < missing.size(); ++i) {
      table += (i ? "; " : " ") + missing[i].peer.task + " " + missing[i].peer.address + ", " + missing[i].reason;
    }
    if (present().empty()) table += missing.empty() ? " any worker" : "; any worker";
    const auto now = Clock::now();
    if (now - started >= options_.start_timeout) {
      throw Error(ErrorCode::Unavailable, "ParameterServerStrategy",
                  "every task of the cluster must answer within start_timeout",
                  {{"start_timeout in seconds", static_cast<double>(options_.start_timeout.count()) / 1000.0},
                   {"tasks", table}},
                  "Start the missing tasks, or correct their addresses.");
    }
    if (now - last_table >= kBetweenTables) {
      log::info("ParameterServerStrategy: " + table + ".");
      last_table = now;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

void TaskConnections::compare_devices() {
  bool first = true;
  for (const WorkerTask& worker : workers_) {
    if (!worker.greeted.connection) continue;
    if (std::exchange(first, false)) devices_per_worker_ = worker.greeted.devices;
    check_devices(worker.task, worker.greeted.devices);
  }
}

void TaskConnections::check_devices(const std::string& task, int devices) const {
  if (devices == devices_per_worker_) return;
  throw failed_precondition("ParameterServerStrategy", "every worker must have as many devices",
                            {{task, devices}, {"other workers", devices_per_worker_}},
                            "Give each the same number of them: cohort server --devices, ServerOptions::devices.");
}

TaskConnections::~TaskConnections() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  keeper_.join();
  // Whoever is gone by now needs no word.
  const auto say_goodbye = [&](const rpc::Peer& peer) {
    try {
      distribute::call<Method::EndJob>(*rpc::connect(peer, options_.transport)->open(), {.job = job_});
    } catch (const std::exception&) {
    }
  };
  const std::vector<rpc::Peer> all = tasks();
  side_by_side(all.size(), [&](std::size_t index) { say_goodbye(all[index]); });
}

TaskConnections::Greeted TaskConnections::connect_worker(int index) {
  WorkerTask& of = worker_task(index);
  const rpc::Peer peer = worker(index);
  bool met = false;
  {
    std::lock_guard lock(mutex_);
    Greeted greeted = std::exchange(of.greeted, {});
    if (greeted.connection && greeted.connection->alive()) return greeted;
    met = of.met;
  }
  if (!of.present) throw rpc::RpcError(ErrorCode::Unavailable, peer, 0, Method::Hello, {}, "it has left the cluster");
  Greeted found = greet(peer, options_.transport, ++epoch_, of.recoveries + (met ? 1 : 0));
  check_devices(peer.task, found.devices);
  found.again = met;
  std::lock_guard lock(mutex_);
  of.met = true;
  return found;
}

void TaskConnections::fence() {
  const Head head{.job = job_, .incarnation = job_, .epoch = ++epoch_};
  std::mutex mutex;
  CollectedErrors errors;
  side_by_side(ps_tasks_.size(), [&](std::size_t index) {
    try {
      const std::shared_ptr<rpc::Connection>& connection = ps_tasks_[index]->connection;
      // One that is lost, which may be why there is a fence, is not waited for a second time.
      const auto silence =
          std::chrono::duration_cast<std::chrono::milliseconds>(connection->silence().value_or(Clock::duration(0)));
      rpc::ReliableStream stream(connection, {.silence = std::max(options_.ps_lost_after - silence, kLeastForAFence)});
      distribute::call<Method::Fence>(stream, head);
    } catch (...) {
      std::lock_guard lock(mutex);
      errors.add(std::current_exception());
    }
  });
  if (!errors.empty()) std::rethrow_exception(errors.take());
}

void TaskConnections::check_ps(int index) const {
  const ParameterServerConnection& ps = *ps_tasks_.at(static_cast<std::size_t>(index));
  // A port that is refused once may be on its way between two listeners; twice it is not.
  for (int tries = 2; tries > 0; --tries) {
    try {
      distribute::call<Method::Progress>(*ps.connection->open(), {.job = job_, .incarnation = job_});
      return;
    } catch (const rpc::RpcError& error) {
      const auto silence = ps.connection->silence();
      const bool silent = silence && *silence >= options_.ps_lost_after;
      if (silent || (error.refused() && tries == 1)) throw LostParameterServer(ps.peer.task, error.what());
      if (!error.refused()) return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unavailable) throw;
      throw LostParameterServer(ps.peer.task, error.what());
    }
    std::this_thread::sleep_for(2 * kBetweenTries);
  }
}

void TaskConnections::tell_releases(std::size_t ps) {
  Releases releases = releases_->take_for_ps(ps);
  if (releases.empty()) return;
  ParameterServerConnection& to = *ps_tasks_[ps];
  for (const std::uint64_t function : releases.functions) to.constants.release_function(function);
  // Counted, so that one which arrives twice does not take a variable that was made by the same name meanwhile.
  const Head head{.job = job_, .incarnation = job_, .closure = ++to.releases, .epoch = epoch_};
  try {
    distribute::call<Method::Release>(*to.stream, head, describe_releases(releases));
  } catch (...) {
    releases_->put_back_for_ps(ps, std::move(releases));
    throw;
  }
}

std::vector<std::string> TaskConnections::worker_names() const {
  std::vector<std::string> names;
  for (const int index : present()) names.push_back(worker_task(index).task);
  return names;
}

std::vector<rpc::Peer> TaskConnections::tasks() const {
  std::vector<rpc::Peer> all;
  for (const int index : present()) all.push_back(worker(index));
  for (const auto& ps : ps_tasks_) all.push_back(ps->peer);
  return all;
}

rpc::TransportOptions TaskConnections::transport() const {
  rpc::TransportOptions transport = options_.transport;
  transport.caller = 0;
  return transport;
}

std::vector<std::string> TaskConnections::ps_addresses() const {
  std::vector<std::string> addresses;
  for (const auto& ps : ps_tasks_) addresses.push_back(ps->peer.address);
  return addresses;
}

std::vector<std::uint64_t> TaskConnections::versions() const {
  std::vector<std::uint64_t> versions;
  for (const auto& ps : ps_tasks_) versions.push_back(ps->version);
  return versions;
}

}  // namespace cohort::distribute
