#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cohort::test {

// Loopback addresses that nobody listens on. Their ports are none that the system gives to outgoing connections, so
// that a task that is started again finds its own still free.
std::vector<std::string> free_addresses(std::size_t count);
// True when a server could listen there.
bool is_free(const std::string& address);

}  // namespace cohort::test
