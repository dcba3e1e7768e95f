#include "cohort/distribute/coordinator/coordinator.h"

#include <utility>

#include "cohort/distribute/coordinator/remote_value_body.h"

namespace cohort::distribute {
namespace {

std::vector<std::string> names_of(const std::vector<std::shared_ptr<WorkerLink>>& links) {
  std::vector<std::string> names;
  for (const auto& link : links) names.push_back(link->task());
  return names;
}

}  // namespace

Coordinator::Coordinator(std::vector<std::shared_ptr<WorkerLink>> links, PullsPerStep pulls, CoordinatorOptions options)
    : workers_(names_of(links)),
      queue_(options.queue),
      pipelines_(static_cast<int>(links.size()), std::move(pulls)),
      dispatcher_(queue_, pipelines_, std::move(links), options.dispatch) {}

void Coordinator::submit(Closure closure) { queue_.put(std::move(closure)); }

RemoteValue Coordinator::schedule(Closure closure) {
  auto body = std::make_shared<RemoteValue::Body>();
  closure.done = [body, done = std::move(closure.done)](ClosureResult& result) {
    try {
      if (done) done(result);
    } catch (...) {
      body->fail(std::current_exception());
      throw;
    }
    body->set(Results(std::move(result.outputs)));
  };
  closure.failed = [body, failed = std::move(closure.failed)](const std::exception_ptr& error) {
    body->fail(error);
    if (failed) failed(error);
  };
  submit(std::move(closure));
  return RemoteValue(std::move(body));
}

}  // namespace cohort::distribute
