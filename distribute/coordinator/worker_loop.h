#pragma once

#include <deque>
#include <exception>
#include <optional>

#include "cohort/distribute/cluster/task_exits.h"
#include "cohort/distribute/coordinator/closure_dispatcher.h"
#include "cohort/distribute/coordinator/closure_queue.h"
#include "cohort/distribute/coordinator/pipeline_book.h"
#include "cohort/distribute/coordinator/worker_link.h"
#include "cohort/distribute/coordinator/worker_watch.h"

namespace cohort::distribute {

// Who cannot be told to cancel is gone, and its thread will notice.
void cancel_quietly(WorkerLink& link);

// What the thread of one worker does: keeps closures in flight on it, takes results, and brings it back when it is
// lost.
class WorkerLoop {
 public:
  WorkerLoop(int worker, WorkerLink& link, ClosureQueue& queue, PipelineBook& pipelines, WorkerWatch& watch,
             const ClosureDispatcherOptions& options)
      : worker_(worker),
        link_(link),
        queue_(queue),
        pipelines_(pipelines),
        watch_(watch),
        options_(options),
        exits_(link.task()) {}

  // Until the queue stops and nothing is in flight.
  void run();

 private:
  void fill();
  void begin(Closure closure);
  void finish_oldest();
  void fail_oldest(const std::exception_ptr& error);
  void data_ended(Closure& closure, const std::exception_ptr& error);
  void worker_lost(const std::exception_ptr& why);
  std::optional<Closure> put_back_all(const LostIncarnation& lost, const std::exception_ptr& why);
  bool try_to_reconnect();
  bool is_same(const LostIncarnation& lost) const;
  std::exception_ptr went_idle() const;
  std::exception_ptr has_left() const;

  const int worker_;
  WorkerLink& link_;
  ClosureQueue& queue_;
  PipelineBook& pipelines_;
  WorkerWatch& watch_;
  const ClosureDispatcherOptions& options_;
  TaskExits exits_;
  std::deque<Closure> under_way_;
};

}  // namespace cohort::distribute
