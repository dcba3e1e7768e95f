#include "cohort/distribute/protocol/message.h"

#include <random>

namespace cohort::distribute {

const char* to_string(Method method) {
  switch (method) {
    case Method::Hello:
      return "Hello";
    case Method::Echo:
      return "Echo";
    case Method::CreateVariable:
      return "CreateVariable";
    case Method::RegisterServer:
      return "RegisterServer";
    case Method::RegisterWorker:
      return "RegisterWorker";
    case Method::CreatePipeline:
      return "CreatePipeline";
    case Method::RunGraph:
      return "RunGraph";
    case Method::Exchange:
      return "Exchange";
    case Method::RunClosure:
      return "RunClosure";
    case Method::Cancel:
      return "Cancel";
    case Method::EndJob:
      return "EndJob";
    case Method::Progress:
      return "Progress";
    case Method::ReachPs:
      return "ReachPs";
    case Method::Fence:
      return "Fence";
    case Method::Release:
      return "Release";
    case Method::Status:
      return "Status";
    case Method::Trace:
      return "Trace";
    case Method::Join:
      return "Join";
    case Method::Leave:
      return "Leave";
    case Method::Members:
      return "Members";
    case Method::OpenSession:
      return "OpenSession";
    case Method::ExtendSession:
      return "ExtendSession";
    case Method::RunSession:
      return "RunSession";
    case Method::CloseSession:
      return "CloseSession";
    case Method::ListDevices:
      return "ListDevices";
    case Method::RegisterPart:
      return "RegisterPart";
    case Method::RunPart:
      return "RunPart";
    case Method::ReleaseParts:
      return "ReleaseParts";
  }
  return "an unknown method";
}

std::uint64_t new_identity() {
  std::random_device entropy;
  return (std::uint64_t{entropy()} << 32 | entropy()) | 1;
}

}  // namespace cohort::distribute
