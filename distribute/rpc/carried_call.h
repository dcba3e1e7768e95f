#pragma once

#include <memory>
#include <optional>

#include "cohort/distribute/rpc/served_call.h"

namespace cohort::distribute::rpc {

// Serve a stream on a thread of its own until the call ends: through memory that the caller offers, or through a socket
// that it connects to this task's address besides. They return why not when they cannot: the caller may come again
// without.
//   caller: who calls, where that has been proven.
grpc::Status serve_shared(ServedCalls& calls, std::unique_ptr<Line>& line, std::optional<TaskIdentity> caller);
grpc::Status serve_socket(ServedCalls& calls, std::unique_ptr<Line>& line, std::optional<TaskIdentity> caller);

}  // namespace cohort::distribute::rpc
