#pragma once

#include <cstddef>
#include <vector>

namespace cohort::distribute {

// Different ports of the loopback address that nobody listens on now. They lie below those the system gives to outgoing
// connections, so that a task's connection does not take the port of one that starts later.
std::vector<int> free_ports(std::size_t count);

}  // namespace cohort::distribute
