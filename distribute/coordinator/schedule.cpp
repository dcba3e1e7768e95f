#include "cohort/distribute/coordinator/schedule.h"

#include <utility>

#include "cohort/distribute/coordinator/remote_value_body.h"

namespace cohort::distribute {

RemoteValue schedule(ClosureQueue& queue, Closure closure) {
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
  queue.put(std::move(closure));
  return RemoteValue(std::move(body));
}

}  // namespace cohort::distribute
