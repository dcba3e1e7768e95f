#pragma once

#include <cstdint>
#include <string>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// Lets a service handle a request. Returns 0, or 1 + the code of what it threw, whose text is then the reply's meta.
std::uint32_t handle_request(Service& service, const Message& request, Message& reply);

// Whether any service is done with a request in less time than another thread takes to wake up, waiting for nobody: an
// echo, or the push of a few values. The thread that has read such a request answers it, too.
bool is_quick(const Message& request);

// Throws, under the task's name, what a status other than 0 and a text stand for.
[[noreturn]] void throw_remote_error(const Peer& peer, std::uint32_t status, const std::string& text);

}  // namespace cohort::distribute::rpc
