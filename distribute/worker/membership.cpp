#include "cohort/distribute/worker/membership.h"

#include <algorithm>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenJoins{250}, kLongestGoodbye{1000}, kSoonest{100}, kLatest{60'000};

proto::JoinProto describe_join(std::int64_t index, const std::string& address, std::uint64_t incarnation) {
  proto::JoinProto join;
  join.set_protocol(kProtocolVersion);
  join.set_task_index(index);
  join.set_address(address);
  join.set_incarnation(incarnation);
  return join;
}

}  // namespace

Membership::Membership(rpc::Peer keeper, rpc::TransportOptions options)
    : keeper_(std::move(keeper)), incarnation_(new_identity()), options_(std::move(options)) {
  options_.caller = incarnation_;
}

Membership::~Membership() { leave(); }

std::shared_ptr<rpc::Stream> Membership::open() {
  std::shared_ptr<rpc::Connection> connection;
  rpc::TransportOptions options;
  {
    std::lock_guard lock(mutex_);
    connection = connection_;
    options = options_;
  }
  if (!connection || !connection->alive()) connection = rpc::connect(keeper_, options);
  std::shared_ptr<rpc::Stream> stream = connection->open();
  std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
  stream_ = stream;
  return stream;
}

std::int64_t Membership::reserve_index(std::chrono::milliseconds longest) {
  const auto until = Clock::now() + longest;
  for (;;) {
    try {
      const auto reply = call<Method::Join>(*open(), {}, describe_join(-1, {}, incarnation_));
      return reply.metadata.task_index();
    } catch (const rpc::RpcError& error) {
      if (Clock::now() < until) {
        std::this_thread::sleep_for(kBetweenJoins);
        continue;
      }
      throw Error(ErrorCode::Unavailable, "Server", "the first ps is expected to answer, which numbers workers",
                  {{keeper_.task, keeper_.address}, {"reason", error.reason()}}, "Start it, or give task_index.");
    }
  }
}

void Membership::announce(std::int64_t index, std::string address, rpc::TransportOptions options) {
  std::lock_guard lock(mutex_);
  if (announced_ || leaving_) return;
  announced_ = true;
  index_ = index;
  address_ = std::move(address);
  options.caller = incarnation_;
  options_ = std::move(options);
  connection_.reset();  // it may have been made under another name
  thread_ = std::thread([this] { keep_joined(); });
}

std::chrono::milliseconds Membership::join_once() {
  std::string problem;
  std::chrono::milliseconds pause = kBetweenJoins;
  try {
    const auto reply = call<Method::Join>(*open(), {}, describe_join(index_, address_, incarnation_));
    pause = std::clamp(std::chrono::milliseconds(reply.metadata.renew_after()), kSoonest, kLatest);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  std::lock_guard lock(mutex_);
  joined_ = joined_ || problem.empty();
  const std::string task = task_name(kWorker, index_);
  if (!problem.empty() && problem != problem_ && !leaving_) {
    log::warn(task + " cannot join at " + keeper_.task + ", and tries again: " + problem);
  } else if (problem.empty() && !problem_.empty()) {
    log::info(task + " has joined at " + keeper_.task);
  }
  problem_ = std::move(problem);
  return pause;
}

void Membership::keep_joined() {
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    lock.unlock();
    const std::chrono::milliseconds pause = join_once();
    lock.lock();
    changed_.wait_for(lock, pause, [this] { return leaving_; });
  }
}

void Membership::leave() {
  {
    std::unique_lock lock(mutex_);
    if (std::exchange(leaving_, true)) return;
    if (stream_) stream_->cancel();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!joined_) return;
  rpc::TransportOptions options = options_;
  options.connect_timeout = std::min(options.connect_timeout, kLongestGoodbye);
  options.dead_after = std::min(options.dead_after, kLongestGoodbye);
  proto::LeaveProto goodbye;
  goodbye.set_task_index(index_);
  goodbye.set_incarnation(incarnation_);
  try {
    call<Method::Leave>(*rpc::connect(keeper_, options)->open(), {}, goodbye);
  } catch (const std::exception& error) {
    log::debug(task_name(kWorker, index_) + " could not say that it leaves: " + error.what());
  }
  connection_.reset();
}

}  // namespace cohort::distribute
