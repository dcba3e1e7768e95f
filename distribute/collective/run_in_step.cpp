#include "cohort/distribute/collective/run_in_step.h"

#include <exception>
#include <string>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

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

void run_in_step(ReplicaThreads& threads, std::span<ReplicaGroup* const> groups, int participants,
                 const std::function<void(int participant)>& work) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(participants));
  const auto guarded = [&](int participant) {
    if (participant >= participants) return;
    std::exception_ptr& error = errors[static_cast<std::size_t>(participant)];
    try {
      work(participant);
    } catch (...) {
      error = std::current_exception();
      for (ReplicaGroup* group : groups) group->abort(ReplicaGroup::reason_of(participant, error));
    }
  };
  threads.run(guarded);
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    if (!first || was_told_by_another(first)) first = error;
  }
  if (!first) return;
  for (ReplicaGroup* group : groups) group->reset();
  std::rethrow_exception(first);
}

}  // namespace cohort::distribute
