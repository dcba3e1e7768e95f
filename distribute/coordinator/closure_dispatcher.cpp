#include "cohort/distribute/coordinator/closure_dispatcher.h"

#include <utility>

#include "cohort/distribute/coordinator/worker_loop.h"

namespace cohort::distribute {
namespace {

std::vector<std::string> task_names_of(const std::vector<std::shared_ptr<WorkerLink>>& links) {
  std::vector<std::string> tasks;
  for (const auto& link : links) tasks.push_back(link->task());
  return tasks;
}

}  // namespace

ClosureDispatcher::ClosureDispatcher(ClosureQueue& queue, PipelineBook& pipelines,
                                     std::vector<std::shared_ptr<WorkerLink>> links, ClosureDispatcherOptions options)
    : queue_(queue), links_(std::move(links)), watch_(task_names_of(links_), options.worker_timeout) {
  if (links_.empty() || options.in_flight == 0) {
    throw invalid_argument("ClosureDispatcher", "at least one worker, and one closure in flight on it, is expected",
                           {{"workers", links_.size()}, {"in_flight", options.in_flight}});
  }
  queue_.set_interrupt([this] { cancel_links(); });
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

void ClosureDispatcher::cancel_links() {
  for (const auto& link : links_) cancel_quietly(*link);
}

}  // namespace cohort::distribute
