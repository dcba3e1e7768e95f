#include "cohort/distribute/worker/session_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cohort/core/log.h"
#include "cohort/core/thread_scope.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {

SessionService::SessionService(const ClusterSpec& cluster, const std::string& job, std::int64_t index,
                               std::uint64_t incarnation, const rpc::TransportOptions& transport, Options options)
    : options_(options),
      parts_(task_name(job, index), options_.memory),
      master_(cluster, job, index, incarnation, transport, parts_, options_.limits) {}

SessionService::~SessionService() { stop(); }

void SessionService::stop() {
  std::thread thread;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    thread = std::move(looks_after_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

bool SessionService::handles(Method method) { return method >= Method::OpenSession && method <= Method::ReleaseParts; }

bool SessionService::is_for_masters(Method method) {
  return method >= Method::ListDevices && method <= Method::ReleaseParts;
}

void SessionService::handle(const Message& request, Message& reply) {
  // A caller of this process runs this on its own thread, perhaps while it builds a graph.
  const FreshThread fresh;
  switch (request.head.method) {
    case Method::OpenSession:
      answer(request, reply, master_, &SessionMaster::open);
      return expect(request.head.job);
    case Method::ExtendSession:
      return answer(request, reply, master_, &SessionMaster::extend);
    case Method::RunSession:
      return answer(request, reply, master_, &SessionMaster::run);
    case Method::CloseSession:
      return answer(request, reply, master_, &SessionMaster::close);
    case Method::ListDevices:
      return answer(request, reply, parts_, &SessionParts::list_devices);
    case Method::RegisterPart:
      answer(request, reply, parts_, &SessionParts::register_part);
      return expect(request.head.incarnation);
    case Method::RunPart:
      return answer(request, reply, parts_, &SessionParts::run_part);
    case Method::ReleaseParts:
      return answer(request, reply, parts_, &SessionParts::release_parts);
    default:
      throw unimplemented("Server", "a known method is expected", {{"method", to_string(request.head.method)}});
  }
}

// Something belongs to this caller from now on. Where it has no way here it may have gone just now.
void SessionService::expect(std::uint64_t caller) {
  {
    std::lock_guard lock(mutex_);
    if (!ways_.contains(caller)) gone_.emplace(caller, Clock::now());
    if (!stopping_ && !looks_after_.joinable()) looks_after_ = std::thread([this] { look_after(); });
  }
  changed_.notify_all();
}

void SessionService::caller_came(std::uint64_t caller) {
  std::lock_guard lock(mutex_);
  ++ways_[caller];
  gone_.erase(caller);
}

void SessionService::caller_left(std::uint64_t caller) {
  const bool known = master_.knows(caller) || parts_.knows_master(caller);
  {
    std::lock_guard lock(mutex_);
    const auto found = ways_.find(caller);
    if (found == ways_.end() || --found->second > 0) return;
    ways_.erase(found);
    if (known) gone_[caller] = Clock::now();
  }
  changed_.notify_all();
}

void SessionService::look_after() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto first = std::min_element(gone_.begin(), gone_.end(), earlier);
    if (first == gone_.end()) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point until = first->second + options_.gone_after;
    if (Clock::now() < until) {
      changed_.wait_until(lock, until);
      continue;
    }
    const std::uint64_t caller = first->first;
    gone_.erase(first);
    lock.unlock();
    master_.forget(caller);
    parts_.forget_master(caller);
    lock.lock();
  }
}

}  // namespace cohort::distribute
