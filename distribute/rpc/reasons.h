#pragma once

namespace cohort::distribute::rpc {

// Reasons of an RpcError that say that nobody is there.
inline constexpr char kConnectionRefused[] = "connection refused", kServerStopped[] = "the server has stopped";

}  // namespace cohort::distribute::rpc
