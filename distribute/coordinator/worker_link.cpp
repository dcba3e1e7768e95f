#include "cohort/distribute/coordinator/worker_link.h"

#include <utility>

namespace cohort::distribute {

std::vector<std::string> task_names_of(const std::vector<std::shared_ptr<WorkerLink>>& links) {
  std::vector<std::string> tasks;
  for (const auto& link : links) tasks.push_back(link->task());
  return tasks;
}

LostParameterServer::LostParameterServer(std::string ps, const std::string& message)
    : Error(ErrorCode::Unavailable, message), ps_(std::move(ps)) {}

bool is_lost_parameter_server(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const LostParameterServer&) {
    return true;
  } catch (...) {
  }
  return false;
}

}  // namespace cohort::distribute
