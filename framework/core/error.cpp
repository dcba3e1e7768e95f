#include "cohort/core/error.h"

namespace cohort {
namespace {

std::string compose(std::string_view who, std::string_view expected, std::initializer_list<Received> received,
                    std::string_view fix) {
  std::string text(who);
  text.append(": ").append(expected);
  if (!expected.empty() && expected.back() != '.') text.push_back('.');
  const char* separator = " Received: ";
  for (const Received& r : received) {
    text.append(separator).append(r.name).append("=").append(r.value);
    separator = ", ";
  }
  if (received.size() > 0) text.push_back('.');
  if (!fix.empty()) text.append(" ").append(fix);
  return text;
}

}  // namespace

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "InvalidArgument";
    case ErrorCode::NotFound:
      return "NotFound";
    case ErrorCode::AlreadyExists:
      return "AlreadyExists";
    case ErrorCode::FailedPrecondition:
      return "FailedPrecondition";
    case ErrorCode::OutOfRange:
      return "OutOfRange";
    case ErrorCode::Unimplemented:
      return "Unimplemented";
    case ErrorCode::Unavailable:
      return "Unavailable";
    case ErrorCode::DataLoss:
      return "DataLoss";
    case ErrorCode::ResourceExhausted:
      return "ResourceExhausted";
    case ErrorCode::DeadlineExceeded:
      return "DeadlineExceeded";
    case ErrorCode::Cancelled:
      return "Cancelled";
    case ErrorCode::Aborted:
      return "Aborted";
    case ErrorCode::PermissionDenied:
      return "PermissionDenied";
    case ErrorCode::Internal:
      return "Internal";
  }
  return "Unknown";
}

Error::Error(ErrorCode code, std::string_view who, std::string_view expected, std::initializer_list<Received> received,
             std::string_view fix)
    : std::runtime_error(compose(who, expected, received, fix)), code_(code) {}

Error invalid_argument(std::string_view who, std::string_view expected, std::initializer_list<Received> received,
                       std::string_view fix) {
  return Error(ErrorCode::InvalidArgument, who, expected, received, fix);
}

Error not_found(std::string_view who, std::string_view expected, std::initializer_list<Received> received,
                std::string_view fix) {
  return Error(ErrorCode::NotFound, who, expected, received, fix);
}

Error failed_precondition(std::string_view who, std::string_view expected, std::initializer_list<Received> received,
                          std::string_view fix) {
  return Error(ErrorCode::FailedPrecondition, who, expected, received, fix);
}

Error unimplemented(std::string_view who, std::string_view expected, std::initializer_list<Received> received,
                    std::string_view fix) {
  return Error(ErrorCode::Unimplemented, who, expected, received, fix);
}

Error internal_error(std::string_view who, std::string_view expected, std::initializer_list<Received> received) {
  return Error(ErrorCode::Internal, who, expected, received, "This is a defect of Cohort.");
}

}  // namespace cohort
