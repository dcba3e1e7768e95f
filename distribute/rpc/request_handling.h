#pragma once

#include <cstdint>
#include <string>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// Lets a service handle a request. Returns 0, or 1 + the code of what it threw, whose text is then the reply's meta.
//   caller: who asks, where it has proven that; nullptr: somebody who need not.
std::uint32_t handle_request(Service& service, const Message& request, Message& reply,
                             const TaskIdentity* caller = nullptr);

// Throws, under the task's name, what a status other than 0 and a text stand for.
[[noreturn]] void throw_remote_error(const Peer& peer, std::uint32_t status, const std::string& text);

}  // namespace cohort::distribute::rpc
