#include "cohort/distribute/coordinator/closure_dispatcher.h"

#include <utility>

#include "cohort/distribute/coordinator/side_by_side.h"
#include "cohort/distribute/coordinator/worker_loop.h"

namespace cohort::distribute {
ClosureDispatcher::ClosureDispatcher(ClosureQueue& queue, PipelineBook& pipelines,
                                     std::vector<std::shared_ptr<WorkerLink>> links, ClosureDispatcherOptions options)
    : queue_(queue), links_(std::move(links)), watch_(task_names_of(links_), options.worker_timeout) {
  if (links_.empty() || options.in_flight == 0) {
    throw invalid_argument("ClosureDispatcher", "at least one worker, and one closure in flight on it, is expected",
                           {{"workers", links_.size()}, {"in_flight", options.in_flight}});
  }
  queue_.set_interrupt([this] { cancel_links(); });
  stuck_watch_ = std::make_unique<StuckWatch>(links_, queue_, options.stuck);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    threads_.emplace_back([this, i, &pipelines, options] {
      WorkerLoop(static_cast<int>(i), *links_[i], queue_, pipelines, watch_, options).run();
    });
  }
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
  for (const auto& link : links_) closures.push_back(link->in_flight());
  return closures;
}

void ClosureDispatcher::cancel_links() {
  side_by_side(links_.size(), [this](std::size_t index) { cancel_quietly(*links_[index]); });
}

}  // namespace cohort::distribute
