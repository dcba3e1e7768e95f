#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cohort/distribute/collective/communicator.h"
#include "cohort/graph/trace.h"

namespace cohort::distribute {

// Gives all workers the first one's bytes, as many as each has.
void broadcast_bytes(collective::Communicator& workers, std::span<std::byte> bytes);

// What texts that differ hardly share.
std::int64_t hash_of(std::string_view text);

// A line for each variable and op of a step: what workers that train in step must have in common.
std::string manifest_of(const TracedGraph& step);
// Throws InvalidArgument, on every worker whose text differs from the first one's, and names the first line that does.
void check_same_manifest(collective::Communicator& workers, const std::string& manifest);

}  // namespace cohort::distribute
