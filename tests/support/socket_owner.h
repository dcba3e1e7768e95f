#pragma once

#include <sys/types.h>

namespace cohort::test {

// The process on this machine whose TCP socket has that local port; 0 when there is none.
pid_t owner_of_port(int port);

}  // namespace cohort::test
