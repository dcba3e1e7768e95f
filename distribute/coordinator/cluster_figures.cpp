#include "cohort/distribute/coordinator/cluster_figures.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cohort::distribute {
namespace {

constexpr std::chrono::milliseconds kLongestAsk{333}, kBetweenAsks{1000};

// As tags of TensorBoard, which shows what has the same first part side by side.
std::string figure_name(const char* figure, std::string task) {
  std::replace(task.begin(), task.end(), ':', '_');
  return std::string(figure) + "/" + task;
}

void append_figures(const TaskStatus& status, ClusterFigures::Figures& to) {
  const auto add = [&](const char* figure, double value) { to.emplace_back(figure_name(figure, status.task), value); };
  const auto count = [](std::uint64_t number) { return static_cast<double>(number); };
  if (status.step_seconds > 0.0) add("step_seconds", status.step_seconds);
  add("bytes_received", count(status.bytes_received));
  add("bytes_sent", count(status.bytes_sent));
  if (status.task.starts_with("ps:")) {
    add("queue_depth", count(status.in_hand));
    return;
  }
  add("staleness", status.staleness);
  add("retries", count(status.retries));
}

}  // namespace

ClusterFigures::ClusterFigures(std::vector<rpc::Peer> tasks, rpc::TransportOptions options,
                               std::function<Figures()> own, std::uint64_t job)
    : own_(std::move(own)),
      options_(std::move(options)),
      job_(job),
      calls_(std::make_unique<StatusCalls>(std::move(tasks), options_, job_)) {}

void ClusterFigures::set_tasks(std::vector<rpc::Peer> tasks) {
  std::lock_guard lock(asking_);
  calls_ = std::make_unique<StatusCalls>(std::move(tasks), options_, job_);
}

ClusterFigures::~ClusterFigures() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

ClusterFigures::Figures ClusterFigures::ask() {
  Figures figures;
  std::lock_guard lock(asking_);
  for (const TaskStatus& status : calls_->ask(kLongestAsk)) {
    if (status.problem.empty()) append_figures(status, figures);
  }
  return figures;
}

ClusterFigures::Figures ClusterFigures::now() {
  Figures figures = ask();
  for (auto& figure : own_()) figures.push_back(std::move(figure));
  return figures;
}

ClusterFigures::Figures ClusterFigures::news() {
  Figures figures;
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { keep_asking(); });
    if (!std::exchange(wanted_, true)) changed_.notify_all();
    figures.swap(news_);
  }
  if (figures.empty()) return figures;
  for (auto& figure : own_()) figures.push_back(std::move(figure));
  return figures;
}

void ClusterFigures::keep_asking() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return wanted_ || stopping_; });
    if (stopping_) return;
    wanted_ = false;
    lock.unlock();
    Figures figures = ask();
    lock.lock();
    news_ = std::move(figures);
    changed_.wait_for(lock, kBetweenAsks, [this] { return stopping_; });
  }
}

}  // namespace cohort::distribute
