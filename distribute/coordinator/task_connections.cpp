#include "cohort/distribute/coordinator/task_connections.h"

#include <thread>

#include "cohort/core/log.h"
#include "cohort/distribute/cluster/roles.h"

namespace cohort::distribute {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenTries{50}, kBetweenTables{2000}, kGiveUpAfter{5000};

}  // namespace

TaskConnections::TaskConnections(ClusterSpec spec, TaskConnectionOptions options)
    : spec_(std::move(spec)), options_(std::move(options)), job_(new_identity()) {
  for (const ClusterTask& task : serving_tasks(spec_)) {
    if (task.job == kWorker) {
      workers_.push_back({task.name(), task.address});
    } else {
      ps_tasks_.push_back(std::make_unique<ParameterServerConnection>());
      ps_tasks_.back()->peer = {task.name(), task.address};
    }
  }
  wait_for_tasks();
  for (const auto& ps : ps_tasks_) {
    ps->stream = std::make_unique<rpc::ReliableStream>(rpc::connect(ps->peer, options_.transport), kGiveUpAfter);
  }
}

std::shared_ptr<rpc::Connection> TaskConnections::greet(const rpc::Peer& peer,
                                                        const rpc::TransportOptions& transport) const {
  auto connection = rpc::connect(peer, transport);
  proto::HelloProto hello;
  hello.set_protocol(kProtocolVersion);
  const auto colon = peer.task.find(':');
  hello.set_job_name(peer.task.substr(0, colon));
  hello.set_task_index(std::stoll(peer.task.substr(colon + 1)));
  hello.set_from("chief");
  for (const std::string& job : spec_.jobs()) {
    proto::JobProto& to = *hello.add_cluster();
    to.set_name(job);
    for (std::int64_t index : spec_.task_indices(job)) {
      proto::TaskProto& task = *to.add_tasks();
      task.set_index(index);
      task.set_address(spec_.task_address(job, index));
    }
  }
  distribute::call<Method::Hello>(*connection->open(), {.job = job_, .incarnation = job_}, hello);
  return connection;
}

void TaskConnections::wait_for_tasks() {
  struct Missing {
    rpc::Peer peer;
    std::string reason;
  };
  std::vector<Missing> missing;
  for (const auto& ps : ps_tasks_) missing.push_back({ps->peer, {}});
  for (const rpc::Peer& worker : workers_) missing.push_back({worker, {}});
  const std::size_t all = missing.size();
  const auto started = Clock::now();
  auto last_table = started;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(started + options_.start_timeout - Clock::now());
    std::vector<Missing> still;
    for (Missing& task : missing) {
      rpc::TransportOptions transport = options_.transport;
      transport.connect_timeout = std::clamp(left, std::chrono::milliseconds(50), transport.connect_timeout);
      try {
        greet(task.peer, transport);
      } catch (const rpc::RpcError& error) {
        task.reason = error.reason();
        still.push_back(task);
      }
    }
    missing = std::move(still);
    if (missing.empty()) return;
    std::string table = std::to_string(all - missing.size()) + "/" + std::to_string(all) + " joined, missing";
    for (std::size_t i = 0; i < missing.size(); ++i) {
      table += (i ? "; " : " ") + missing[i].peer.task + " " + missing[i].peer.address + ", " + missing[i].reason;
    }
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

TaskConnections::~TaskConnections() {
  // Whoever is gone by now needs no word.
  const auto say_goodbye = [&](const rpc::Peer& peer) {
    try {
      distribute::call<Method::EndJob>(*rpc::connect(peer, options_.transport)->open(), {.job = job_});
    } catch (const std::exception&) {
    }
  };
  for (const rpc::Peer& worker : workers_) say_goodbye(worker);
  for (const auto& ps : ps_tasks_) say_goodbye(ps->peer);
}

std::shared_ptr<rpc::Connection> TaskConnections::connect_worker(int index) const {
  return greet(worker(index), options_.transport);
}

std::vector<std::string> TaskConnections::worker_names() const {
  std::vector<std::string> names;
  for (const rpc::Peer& worker : workers_) names.push_back(worker.task);
  return names;
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
