#include "cohort/distribute/rpc/request_handling.h"

#include <new>

namespace cohort::distribute::rpc {
namespace {

std::uint32_t fail(Message& reply, ErrorCode code, const char* text) {
  reply.meta = text;
  reply.parts.clear();
  return 1 + static_cast<std::uint32_t>(code);
}

}  // namespace

std::uint32_t handle_request(Service& service, const Message& request, Message& reply, const TaskIdentity* caller) {
  reply.head = Head{};
  reply.meta.clear();
  reply.parts.clear();
  std::uint32_t status = 0;
  try {
    if (caller) service.check_caller(*caller, request);
    service.handle(request, reply);
  } catch (const Error& error) {
    status = fail(reply, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    status = fail(reply, ErrorCode::ResourceExhausted, "out of memory");
  } catch (const std::exception& error) {
    status = fail(reply, ErrorCode::Internal, error.what());
  } catch (...) {
    status = fail(reply, ErrorCode::Internal, "an exception of an unknown type");
  }
  reply.head.method = request.head.method;
  reply.head.sequence = request.head.sequence;
  return status;
}

void throw_remote_error(const Peer& peer, std::uint32_t status, const std::string& text) {
  const auto last = static_cast<std::uint32_t>(ErrorCode::Internal);
  const ErrorCode code = status - 1 <= last ? static_cast<ErrorCode>(status - 1) : ErrorCode::Internal;
  throw Error(code, peer.task + ": " + text);
}

}  // namespace cohort::distribute::rpc
