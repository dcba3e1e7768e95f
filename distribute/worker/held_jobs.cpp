#include "cohort/distribute/worker/held_jobs.h"

#include <algorithm>

#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/worker/held_job.h"

namespace cohort::distribute {

const HeldJobs::Entry* HeldJobs::find_id(std::uint64_t id) const {
  for (const Entry& entry : jobs_) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

const HeldJobs::Entry* HeldJobs::find_name(const std::string& name) const {
  for (const Entry& entry : jobs_) {
    if (entry.job->name == name) return &entry;
  }
  return nullptr;
}

std::optional<HeldJobs::Gone> HeldJobs::reason_gone(std::uint64_t id) const {
  for (const auto& [before, reason] : gone_) {
    if (before == id) return reason;
  }
  return std::nullopt;
}

Error HeldJobs::gone(std::string_view method, Gone reason) const {
  constexpr const char* kReasons[] = {"The job has ended here.", "Another chief has taken over this task.",
                                      "Its chief was gone for orphan_timeout, and what it had here was dropped."};
  return Error(ErrorCode::Aborted, task_, "a message of a present job is expected", {{"method", method}},
               kReasons[static_cast<int>(reason)]);
}

std::string HeldJobs::names() const {
  const auto name = [this](const Entry& entry) { return entry.job->name + (is_led(entry) ? "" : " (chief gone)"); };
  return "[" + join(jobs_, name) + "]";
}

// A chief whose way here holds is not pushed aside by a program that was started by mistake. One that was just killed
// is gone in a moment.
void HeldJobs::wait_for_place(Lock& lock, const proto::HelloProto& hello) {
  constexpr std::chrono::milliseconds kMoment{1500};
  const auto led = [&]() -> const Entry* {
    const Entry* entry = find_name(hello.led_job());
    return entry && is_led(*entry) ? entry : nullptr;
  };
  const Entry* entry = led();
  if (!entry || hello.take_over()) return;
  if (!entry->job->key.empty() && entry->job->key == hello.job_key()) return;
  if (changed_.wait_for(lock, kMoment, [&] { return !led() || stopped_; })) return;
  throw failed_precondition(task_, "a job that no chief leads is expected", {{"led as", hello.led_job()}},
                            "Another program uses this cluster under that name. Give this one a job_name of its own; "
                            "or, if the other is to end, say take_over, or show its job key.");
}

std::shared_ptr<HeldJob> HeldJobs::take_out(std::uint64_t id, Gone reason) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [id](const Entry& entry) { return entry.id == id; });
  if (found == jobs_.end()) return nullptr;
  constexpr std::size_t kRemembered = 256;
  gone_.emplace_back(id, reason);
  if (gone_.size() > kRemembered) gone_.pop_front();
  std::shared_ptr<HeldJob> job = std::move(found->job);
  jobs_.erase(found);
  ended_ = jobs_.empty();
  job->closures.end();
  return job;
}

std::vector<std::shared_ptr<HeldJob>> HeldJobs::take_orphans() {
  std::vector<std::shared_ptr<HeldJob>> orphans;
  if (limits_.orphan_timeout.count() == 0) return orphans;
  const auto since = std::chrono::steady_clock::now() - limits_.orphan_timeout;
  std::vector<std::uint64_t> ids;
  for (const Entry& entry : jobs_) {
    if (entry.orphan_since && *entry.orphan_since <= since) ids.push_back(entry.id);
  }
  for (const std::uint64_t id : ids) {
    orphans.push_back(take_out(id, Gone::Orphaned));
    log::warn(task_ + ": the chief of job '" + orphans.back()->name +
              "' has been gone for orphan_timeout; the job ends here.");
  }
  if (!orphans.empty()) changed_.notify_all();
  return orphans;
}

std::shared_ptr<HeldJob> HeldJobs::greet(std::uint64_t id, const proto::HelloProto& hello,
                                         const std::function<std::shared_ptr<HeldJob>()>& make) {
  std::vector<std::shared_ptr<HeldJob>> before;  // let go of without the lock
  Lock lock(mutex_);
  // One that was taken for dead may wake up and look for its tasks.
  if (const auto reason = reason_gone(id)) throw gone("Hello", *reason);
  if (!find_id(id)) wait_for_place(lock, hello);
  if (const Entry* known = find_id(id)) return known->job;
  before = take_orphans();
  const Entry* same = find_name(hello.led_job());
  if (!same && jobs_.size() >= static_cast<std::size_t>(limits_.max_jobs)) {
    throw Error(ErrorCode::ResourceExhausted, task_, "a task with room for another job is expected",
                {{"job", hello.led_job()}, {"max_jobs", limits_.max_jobs}, {"jobs here", names()}},
                "Wait until one of them ends, or let the task take more: cohort server --max-jobs.");
  }
  std::shared_ptr<HeldJob> job = make();
  if (same) {
    log::info(task_ + ": a new chief has come for job '" + hello.led_job() +
              "'; what the one before it had is dropped.");
    before.push_back(take_out(same->id, Gone::TakenOver));
  }
  if (leaving_) job->closures.leave();
  jobs_.push_back({id, job, std::nullopt});
  // Its way may have ended before its word was read.
  if (!is_led(jobs_.back())) jobs_.back().orphan_since = std::chrono::steady_clock::now();
  ended_ = false;
  changed_.notify_all();
  return job;
}

std::shared_ptr<HeldJob> HeldJobs::find(const Head& head) const {
  std::lock_guard lock(mutex_);
  if (const Entry* entry = find_id(head.job)) return entry->job;
  const auto reason = reason_gone(head.job);
  if (reason && *reason != Gone::Ended) throw gone(to_string(head.method), *reason);
  throw Error(ErrorCode::Unavailable, task_, "a task that takes part in the job is expected",
              {{"method", to_string(head.method)}}, "It was restarted and has lost what it held.");
}

void HeldJobs::end(const std::shared_ptr<HeldJob>& job) {
  {
    std::lock_guard lock(mutex_);
    take_out(job->id, Gone::Ended);
  }
  changed_.notify_all();
}

void HeldJobs::caller_came(std::uint64_t caller) {
  std::lock_guard lock(mutex_);
  ++callers_[caller];
  for (Entry& entry : jobs_) {
    if (entry.id == caller) entry.orphan_since.reset();
  }
}

void HeldJobs::caller_left(std::uint64_t caller) {
  std::lock_guard lock(mutex_);
  const auto found = callers_.find(caller);
  if (found == callers_.end() || --found->second > 0) return;
  callers_.erase(found);
  for (Entry& entry : jobs_) {
    if (entry.id != caller) continue;
    entry.job->closures.end_orphans();
    entry.orphan_since = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

std::uint64_t HeldJobs::progress(std::uint64_t caller) const {
  std::uint64_t steps = 0;
  std::lock_guard lock(mutex_);
  for (const Entry& entry : jobs_) {
    if (caller == 0 || entry.id == caller) steps += entry.job->closures.steps_begun();
  }
  return steps;
}

std::vector<HeldJobs::Listed> HeldJobs::all() const {
  std::vector<Listed> listed;
  std::lock_guard lock(mutex_);
  for (const Entry& entry : jobs_) listed.push_back({entry.job, is_led(entry)});
  return listed;
}

void HeldJobs::wait() {
  Lock lock(mutex_);
  while (!stopped_) {
    if (auto orphans = take_orphans(); !orphans.empty()) {
      lock.unlock();
      orphans.clear();
      lock.lock();
      continue;
    }
    if (ended_ && !limits_.stay) return;
    std::optional<std::chrono::steady_clock::time_point> first;
    for (const Entry& entry : jobs_) {
      if (entry.orphan_since && (!first || *entry.orphan_since < *first)) first = entry.orphan_since;
    }
    if (first && limits_.orphan_timeout.count() > 0) {
      changed_.wait_until(lock, *first + limits_.orphan_timeout);
    } else {
      changed_.wait(lock);
    }
  }
}

bool HeldJobs::runs_a_closure() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const Entry& entry) { return !entry.job->closures.is_idle(); });
}

bool HeldJobs::leave(std::chrono::steady_clock::time_point until) {
  constexpr std::chrono::milliseconds kBetweenLooks{5};
  Lock lock(mutex_);
  leaving_ = true;
  for (const Entry& entry : jobs_) entry.job->closures.leave();
  bool ran = false;
  while (!stopped_ && runs_a_closure()) {
    ran = true;
    if (std::chrono::steady_clock::now() >= until) {
      log::warn(task_ + ": what it has begun does not end in time, and is left to others.");
      break;
    }
    changed_.wait_for(lock, kBetweenLooks);
  }
  return ran;
}

void HeldJobs::stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const Entry& entry : jobs_) entry.job->closures.end();
  }
  changed_.notify_all();
}

bool HeldJobs::is_leaving() const {
  std::lock_guard lock(mutex_);
  return leaving_ || stopped_;
}

}  // namespace cohort::distribute
