#include "cohort/distribute/coordinator/status_calls.h"

#include <algorithm>
#include <utility>

#include "cohort/distribute/protocol/cluster_message.h"
#include "cohort/distribute/protocol/members.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {
namespace {

using StatusClock = std::chrono::steady_clock;
constexpr std::size_t kLongestText = 200;
constexpr int kMostJobs = 10'000;

Error not_a_status(const rpc::Peer& from, const char* expected, const Received& received) {
  return Error(ErrorCode::DataLoss, from.task.empty() ? from.address : from.task, expected, {received});
}

double seconds_of(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// What the message says of one job.
void read_job(const proto::TaskStatusProto& from, const rpc::Peer& peer, TaskStatus& status) {
  if (from.led_job().size() > kLongestText) {
    throw not_a_status(peer, "names of at most 200 bytes are expected", {"bytes", from.led_job().size()});
  }
  if (from.in_hand() > from.requests()) {
    throw not_a_status(peer, "no more requests are expected in hand than have come", {"in hand", from.in_hand()});
  }
  status.job = printable(from.led_job());
  status.led = from.led();
  status.running = from.running();
  status.steps = from.steps();
  status.step_seconds = seconds_of(from.step_nanoseconds());
  status.requests = from.requests();
  status.in_hand = from.in_hand();
  status.bytes_received = from.bytes_received();
  status.bytes_sent = from.bytes_sent();
  status.bundles = from.bundles();
  if (from.bundles() > 0) {
    status.staleness = static_cast<double>(from.stale_versions()) / static_cast<double>(from.bundles());
  }
  status.most_stale = from.most_stale();
  status.retries = from.retries();
  status.recoveries = from.recoveries();
  status.variable_bytes = from.variable_bytes();
}

TaskStatus read_status(const proto::TaskStatusProto& from, const rpc::Peer& peer) {
  if (from.job_name().size() > kLongestText) {
    throw not_a_status(peer, "names of at most 200 bytes are expected", {"bytes", from.job_name().size()});
  }
  const std::string name = printable(task_name(from.job_name(), from.task_index()));
  if (!peer.task.empty() && peer.task != name) {
    throw not_a_status(peer, "this task is expected at its address", {"task there", name});
  }
  if (from.jobs_size() > kMostJobs) {
    throw not_a_status(peer, "a task has at most 10,000 jobs", {"jobs", from.jobs_size()});
  }
  TaskStatus status{.task = name, .address = peer.address};
  status.uptime = static_cast<double>(from.uptime()) * 1e-3;
  for (const proto::TaskStatusProto& job : from.jobs()) {
    status.jobs.push_back({.task = name, .address = peer.address, .uptime = status.uptime});
    read_job(job, peer, status.jobs.back());
  }
  status.cluster = read_cluster(from);
  if (from.members_size() > static_cast<int>(kMostMembers)) {
    throw not_a_status(peer, "fewer members are expected", {"members", from.members_size()});
  }
  for (const proto::TaskProto& member : from.members()) status.members[member.index()] = printable(member.address());
  read_job(from, peer, status);
  return status;
}

std::chrono::nanoseconds since_epoch(StatusClock::time_point time) { return time.time_since_epoch(); }

}  // namespace

TaskStatus ask_status(rpc::Stream& stream, const rpc::Peer& peer, std::uint64_t job) {
  const std::chrono::nanoseconds asked = since_epoch(StatusClock::now());
  const auto reply = call<Method::Status>(stream, {.job = job});
  const std::chrono::nanoseconds answered = since_epoch(StatusClock::now());
  TaskStatus status = read_status(reply.metadata, peer);
  status.round_trip = answered - asked;
  // Modulo 2^64: what a clock says is anybody's number.
  const auto middle = static_cast<std::uint64_t>((asked + status.round_trip / 2).count());
  status.clock_offset = std::chrono::nanoseconds(static_cast<std::int64_t>(reply.metadata.clock() - middle));
  return status;
}

StatusCalls::StatusCalls(std::vector<rpc::Peer> tasks, rpc::TransportOptions options, std::uint64_t job)
    : calls_(std::move(tasks), std::move(options)), job_(job) {}

std::vector<TaskStatus> StatusCalls::ask(std::chrono::milliseconds longest) {
  const std::vector<rpc::Peer>& tasks = calls_.tasks();
  std::vector<TaskStatus> statuses(tasks.size());
  std::vector<std::string> problems = calls_.run(longest, [&](std::size_t index, rpc::Stream& stream) {
    statuses[index] = ask_status(stream, tasks[index], job_);
  });
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (problems[i].empty()) continue;
    statuses[i] = {.task = tasks[i].task, .address = tasks[i].address, .problem = std::move(problems[i])};
  }
  return statuses;
}

}  // namespace cohort::distribute
