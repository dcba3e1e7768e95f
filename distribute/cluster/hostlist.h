#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::distribute {

// Most hosts and most tasks that a text may name: Slurm's own limit on a range.
inline constexpr std::size_t kMostHosts = 65536;

// The hosts of Slurm's host list, in its order: "n[1-2,08-09]-ib,m5" is n1-ib, n2-ib, n08-ib, n09-ib, m5. Of several
// ranges in one name the last runs fastest; numbers are as wide as a range's first. Throws InvalidArgument in the name
// of `who` when it is none.
std::vector<std::string> expand_hostlist(std::string_view text, std::string_view who);

// Slurm's short form for how many tasks each node has: "2(x3),1" is 2, 2, 2, 1. Throws likewise.
std::vector<std::int64_t> expand_task_counts(std::string_view text, std::string_view who);

}  // namespace cohort::distribute
