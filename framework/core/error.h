#pragma once

#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

enum class ErrorCode {
  InvalidArgument,
  NotFound,
  AlreadyExists,
  FailedPrecondition,
  OutOfRange,
  Unimplemented,
  Unavailable,
  DataLoss,
  ResourceExhausted,
  DeadlineExceeded,
  Cancelled,
  Aborted,
  PermissionDenied,
  Internal,
};

const char* to_string(ErrorCode code);

// One `name=value` of an error's "Received:" part; takes anything that can be streamed.
struct Received {
  template <class T>
  Received(std::string_view name, const T& value) : name(name) {
    std::ostringstream text;
    text << std::boolalpha << value;
    this->value = text.str();
  }
  std::string name;
  std::string value;
};

// Every failure the framework reports: `<who>: <expected>. Received: <name>=<value>. <how to fix>`.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Error(ErrorCode code, std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
        std::string_view fix = {});

  ErrorCode code() const { return code_; }
  // Only an unavailable peer may be asked again.
  bool retryable() const { return code_ == ErrorCode::Unavailable; }

 private:
  ErrorCode code_;
};

// Short forms for the codes thrown most.
Error invalid_argument(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
                       std::string_view fix = {});
Error not_found(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
                std::string_view fix = {});
Error failed_precondition(std::string_view who, std::string_view expected,
                          std::initializer_list<Received> received = {}, std::string_view fix = {});
Error unimplemented(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
                    std::string_view fix = {});
Error internal_error(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {});

}  // namespace cohort
