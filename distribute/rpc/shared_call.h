#pragma once

#include <memory>
#include <optional>

#include "cohort/distribute/rpc/served_call.h"

namespace cohort::distribute::rpc {

// Serves a stream through memory that the caller offers, on a thread of its own, until the call ends. Returns why not
// when it cannot: the caller may come again without.
//   caller: who calls, where that has been proven.
grpc::Status serve_shared(ServedCalls& calls, std::unique_ptr<Line>& line, std::optional<TaskIdentity> caller);

}  // namespace cohort::distribute::rpc
