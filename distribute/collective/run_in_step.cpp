#include "cohort/distribute/collective/run_in_step.h"

#include <exception>
#include <string>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

// What a replica that failed tells the others.
std::string reason_of(int replica, const std::exception_ptr& error) {
  const std::string who = "replica " + std::to_string(replica) + " failed: ";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return who + exception.what();
  } catch (...) {
    return who + "unknown exception";
  }
}

bool was_told_by_another(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code() == ErrorCode::Aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

void run_in_step(ReplicaThreads& threads, ReplicaGroup& group, const std::function<void(int replica)>& work) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(group.size()));
  const auto guarded = [&](int replica) {
    try {
      work(replica);
    } catch (...) {
      errors[static_cast<std::size_t>(replica)] = std::current_exception();
      group.abort(reason_of(replica, errors[static_cast<std::size_t>(replica)]));
    }
  };
  threads.run(guarded);
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    if (!first || was_told_by_another(first)) first = error;
  }
  if (!first) return;
  group.reset();
  std::rethrow_exception(first);
}

}  // namespace cohort::distribute
