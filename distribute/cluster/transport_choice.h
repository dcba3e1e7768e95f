#pragma once

#include <string>
#include <string_view>

namespace cohort::distribute {

// Throws InvalidArgument unless it is one that users may choose: "auto", "shm", "tcp" or "grpc".
void check_transport(std::string_view who, const std::string& transport);
// Whether tasks of one host may choose shared memory by it.
inline bool may_share_memory(std::string_view transport) { return transport == "auto" || transport == "shm"; }

}  // namespace cohort::distribute
