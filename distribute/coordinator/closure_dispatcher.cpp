#include "cohort/distribute/coordinator/closure_dispatcher.h"

#include <utility>

#include "cohort/distribute/coordinator/side_by_side.h"
#include "cohort/distribute/coordinator/worker_loop.h"

namespace cohort::distribute {
ClosureDispatcher::ClosureDispatcher(ClosureQueue& queue, PipelineBook& pipelines,
                                     std::vector<std::shared_ptr<WorkerLink>> links, ClosureDispatcherOptions options)
    : queue_(queue),
      pipelines_(pipelines),
      options_(options),
      links_(std::move(links)),
      watch_(task_names_of(links_), options.worker_timeout) {
  if (links_.empty() || options.in_flight == 0) {
    throw invalid_argument("ClosureDispatcher", "at least one worker, and one closure in flight on it, is expected",
                           {{"workers", links_.size()}, {"in_flight", options.in_flight}});
  }
  queue_.set_interrupt([this] { cancel_links(); });
  stuck_watch_ = std::make_unique<StuckWatch>(links_, queue_, options.stuck);
  for (std::size_t i = 0; i < links_.size(); ++i) start_thread(static_cast<int>(i), links_[i]);
}

void ClosureDispatcher::start_thread(int worker, const std::shared_ptr<WorkerLink>& link) {
  threads_.emplace_back(
      [this, worker, link] { WorkerLoop(worker, *link, queue_, pipelines_, watch_, options_).run(); });
}

void ClosureDispatcher::add(std::shared_ptr<WorkerLink> link) {
  std::lock_guard lock(mutex_);
  watch_.add(link->task());
  stuck_watch_->add(link);
  links_.push_back(std::move(link));
  start_thread(static_cast<int>(links_.size()) - 1, links_.back());
}

void ClosureDispatcher::abandon(int worker, const std::string& why) {
  links().at(static_cast<std::size_t>(worker))->abandon(why);
}

std::vector<std::shared_ptr<WorkerLink>> ClosureDispatcher::links() const {
  std::lock_guard lock(mutex_);
  return links_;
}

ClosureDispatcher::~ClosureDispatcher() {
  queue_.stop();
  watch_.stop();
  cancel_links();
  for (std::thread& thread : threads_) thread.join();
  queue_.set_interrupt(nullptr);
}

std::vector<std::size_t> ClosureDispatcher::in_flight() const {
  std::vector<std::size_t> closures;
  for (const auto& link : links()) closures.push_back(link->in_flight());
  return closures;
}

void ClosureDispatcher::cancel_links() {
  const std::vector<std::shared_ptr<WorkerLink>> all = links();
  side_by_side(all.size(), [&](std::size_t index) { cancel_quietly(*all[index]); });
}

}  // namespace cohort::distribute
