#include "cohort/distribute/worker/member_book.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/protocol/members.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {
namespace {

// A member renews so often within its lease.
constexpr int kRenewals = 4;

bool is_first_ps(const ClusterSpec& cluster, const std::string& job_name, std::int64_t task_index) {
  return job_name == kPs && cluster.has_job(kPs) && cluster.task_indices(kPs).front() == task_index;
}

std::set<std::int64_t> listed_workers(const ClusterSpec& cluster) {
  if (!cluster.has_job(kWorker)) return {};
  const std::vector<std::int64_t> indices = cluster.task_indices(kWorker);
  return {indices.begin(), indices.end()};
}

}  // namespace

MemberBook::MemberBook(const ClusterSpec& cluster, const std::string& job_name, std::int64_t task_index,
                       MemberBookOptions options)
    : name_(task_name(job_name, task_index)),
      keeps_(is_first_ps(cluster, job_name, task_index)),
      listed_(listed_workers(cluster)),
      options_(options),
      // One that was started again has other generations than any that somebody knows.
      generation_(new_identity() >> 8) {}

void MemberBook::check_keeps() const {
  if (keeps_) return;
  throw failed_precondition(name_, "the first ps of the cluster is expected, which keeps the book of members",
                            {{"task", name_}}, "Give every task the same cluster.");
}

std::string MemberBook::checked_address(const std::string& address) const {
  if (address.empty()) return {};
  if (address.size() > kLongestMemberAddress) {
    throw invalid_argument(name_, "a member's address is expected to be shorter", {{"bytes", address.size()}});
  }
  const Address parsed = parse_address(address, name_);
  if (parsed.port == 0 || parsed.host == "0.0.0.0" || parsed.host == "::") {
    throw invalid_argument(name_, "an address that others can dial is expected", {{"address", address}},
                           "Say which one: --advertise HOST:PORT.");
  }
  return address;
}

void MemberBook::changed() {
  ++generation_;
  change_.notify_all();
}

void MemberBook::forget_silent() {
  const auto oldest = Clock::now() - options_.lease;
  if (std::erase_if(entries_, [&](const auto& entry) { return entry.second.heard < oldest; }) > 0) changed();
}

std::int64_t MemberBook::index_for(std::int64_t asked, std::uint64_t incarnation) const {
  if (asked >= 0) return asked;
  for (const auto& [index, entry] : entries_) {
    if (entry.incarnation == incarnation) return index;
  }
  std::int64_t index = 0;
  while (entries_.contains(index) || listed_.contains(index)) ++index;
  return index;
}

void MemberBook::check_address_is_free(const std::string& address, std::int64_t index) {
  if (address.empty()) return;
  const auto other = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry.first != index && entry.second.address == address;
  });
  if (other == entries_.end()) return;
  // Whoever was there cannot be there still.
  if (is_gone(other->second)) {
    entries_.erase(other);
    return;
  }
  throw Error(ErrorCode::AlreadyExists, name_, "an address of the member's own is expected",
              {{"address", address}, {"member", task_name(kWorker, other->first)}});
}

void MemberBook::join(const Request<Method::Join>& request, Reply<Method::Join>& reply) {
  const proto::JoinProto& from = request.metadata;
  check_keeps();
  if (from.protocol() != kProtocolVersion) {
    throw failed_precondition(name_, "a worker that speaks the same protocol is expected",
                              {{"protocol", from.protocol()}, {"expected", kProtocolVersion}},
                              "Run the same version of Cohort everywhere.");
  }
  if (from.incarnation() == 0 || from.task_index() < -1 || from.task_index() > kHighestMember) {
    throw invalid_argument(name_, "a worker's index, or -1, and its incarnation are expected",
                           {{"task_index", from.task_index()}, {"incarnation", from.incarnation()}});
  }
  const std::string address = checked_address(from.address());
  std::lock_guard lock(mutex_);
  forget_silent();
  const std::int64_t index = index_for(from.task_index(), from.incarnation());
  const auto known = entries_.find(index);
  if (known == entries_.end() && entries_.size() >= options_.most) {
    throw Error(ErrorCode::ResourceExhausted, name_, "room for another member is expected",
                {{"members", entries_.size()}});
  }
  if (known != entries_.end() && known->second.incarnation != from.incarnation() && !is_gone(known->second)) {
    throw Error(ErrorCode::AlreadyExists, name_, "an index that no other process has is expected",
                {{"member", task_name(kWorker, index)}, {"at", known->second.address}},
                "Stop that one first, or take the index 'auto'.");
  }
  check_address_is_free(address, index);
  Entry& entry = entries_[index];
  const bool same = entry.incarnation == from.incarnation() && entry.address == address;
  entry = {.address = address, .incarnation = from.incarnation(), .heard = Clock::now()};
  if (!same) changed();
  reply.metadata.set_task_index(index);
  reply.metadata.set_renew_after(static_cast<std::uint32_t>(options_.lease.count() / kRenewals));
}

void MemberBook::leave(const Request<Method::Leave>& request, Reply<Method::Leave>&) {
  check_keeps();
  std::lock_guard lock(mutex_);
  const auto known = entries_.find(request.metadata.task_index());
  if (known == entries_.end() || known->second.incarnation != request.metadata.incarnation()) return;
  entries_.erase(known);
  changed();
}

void MemberBook::members(const Request<Method::Members>& request, Reply<Method::Members>& reply) {
  check_keeps();
  const std::chrono::milliseconds asked(request.metadata.wait());
  const auto until = Clock::now() + std::min(asked, options_.longest_wait);
  std::unique_lock lock(mutex_);
  forget_silent();
  const auto is_news = [&] { return stopped_ || generation_ != request.metadata.generation(); };
  if (waiting_ < options_.most_waiting) {
    ++waiting_;
    change_.wait_until(lock, until, is_news);
    --waiting_;
    forget_silent();
  }
  reply.metadata.set_generation(generation_);
  for (const auto& [index, entry] : entries_) {
    if (entry.address.empty()) continue;
    proto::MemberProto& member = *reply.metadata.add_members();
    member.set_task_index(index);
    member.set_address(entry.address);
    member.set_incarnation(entry.incarnation);
  }
}

std::map<std::int64_t, std::string> MemberBook::addresses() const {
  std::map<std::int64_t, std::string> addresses;
  std::lock_guard lock(mutex_);
  const auto oldest = Clock::now() - options_.lease;
  for (const auto& [index, entry] : entries_) {
    if (!entry.address.empty() && entry.heard >= oldest) addresses.emplace(index, entry.address);
  }
  return addresses;
}

void MemberBook::check_caller(const TaskIdentity& caller, const Message& request) const {
  std::int64_t index = 0;
  if (request.head.method == Method::Join) {
    proto::JoinProto join;
    read_metadata(name_, request, join);
    index = join.task_index();
  } else if (request.head.method == Method::Leave) {
    proto::LeaveProto leave;
    read_metadata(name_, request, leave);
    index = leave.task_index();
  } else {
    return;
  }
  // Who knows the secret may be any worker, also the next one.
  const bool any = index == -1 && caller.cluster.empty();
  if (caller.job == kWorker && (caller.index == index || any)) return;
  throw Error(ErrorCode::PermissionDenied, name_, "a worker that speaks for itself is expected",
              {{"caller", task_name(caller.job, caller.index)},
               {"method", to_string(request.head.method)},
               {"task_index", index}},
              "Give the worker the index that its certificate is made for.");
}

void MemberBook::caller_came(std::uint64_t caller) {
  if (!keeps_) return;
  std::lock_guard lock(mutex_);
  ++ways_[caller];
}

void MemberBook::caller_left(std::uint64_t caller) {
  if (!keeps_) return;
  std::lock_guard lock(mutex_);
  const auto found = ways_.find(caller);
  if (found != ways_.end() && --found->second <= 0) ways_.erase(found);
}

void MemberBook::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  change_.notify_all();
}

}  // namespace cohort::distribute
