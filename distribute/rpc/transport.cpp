#include "cohort/distribute/rpc/transport.h"

#include <cstdio>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/grpc_connection.h"
#include "cohort/distribute/rpc/in_process.h"
#include "cohort/distribute/rpc/reasons.h"

namespace cohort::distribute::rpc {
namespace {

constexpr char kNoSuchServer[] = "no server of this process listens there";

std::string seconds(std::chrono::nanoseconds elapsed) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(elapsed).count());
  return text;
}

std::shared_ptr<Connection> connect_unwrapped(const Peer& peer, const TransportOptions& options) {
  const Address address = parse_address(peer.address, peer.task);
  check_may_use(peer.address, options.security.get(), peer.task, "a task is called");
  if (options.transport == "grpc" || options.transport == "shm" || options.transport == "tcp")
    return connect_grpc(peer, options);
  if (options.transport != "auto" && options.transport != "in_process") {
    throw invalid_argument(peer.task, "the transport is auto, in_process, shm, tcp or grpc",
                           {{"transport", options.transport}});
  }
  if (auto endpoint = find_endpoint(address.numeric()))
    return connect_in_process(peer, std::move(endpoint), options.caller);
  if (options.transport == "auto") return connect_grpc(peer, options);
  throw RpcError(ErrorCode::Unavailable, peer, 0, Method::Hello, {}, kNoSuchServer);
}

}  // namespace

RpcError::RpcError(ErrorCode code, Peer peer, std::uint64_t incarnation, Method call, std::chrono::nanoseconds elapsed,
                   const std::string& reason)
    : Error(code, peer.task + " at " + peer.address, std::string("an answer to ") + to_string(call) + " is expected",
            {{"reason", reason}, {"elapsed", seconds(elapsed)}, {"incarnation", incarnation}}),
      peer_(std::move(peer)),
      incarnation_(incarnation),
      call_(call),
      elapsed_(elapsed),
      reason_(reason) {}

bool RpcError::refused() const {
  return reason_ == kConnectionRefused || reason_ == kNoSuchServer || reason_ == kServerStopped;
}

void Stream::post(const Message& message, std::chrono::steady_clock::time_point) {
  throw unimplemented("Stream", "this kind of stream carries requests that are answered",
                      {{"method", to_string(message.head.method)}});
}

void Stream::post_copy(const Message& message, std::chrono::steady_clock::time_point deadline) {
  Message copy = message;
  for (Tensor& part : copy.parts) part = part.clone();
  post(copy, deadline);
}

std::shared_ptr<Connection> connect(const Peer& peer, const TransportOptions& options) {
  std::shared_ptr<Connection> connection = connect_unwrapped(peer, options);
  return options.wrap ? options.wrap(std::move(connection)) : connection;
}

}  // namespace cohort::distribute::rpc
