#include "cohort/distribute/coordinator/closure.h"

#include <utility>

namespace cohort::distribute {

LostServer::LostServer(std::string server, const std::string& message)
    : Error(ErrorCode::Unavailable, message), server_(std::move(server)) {}

bool is_lost_server(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const LostServer&) {
    return true;
  } catch (...) {
  }
  return false;
}

}  // namespace cohort::distribute
