#pragma once

#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

// What kind of failure an Error reports, as gRPC's status codes name them.
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

// "InvalidArgument", ...
const char* to_string(ErrorCode code);

// One `name=value` of an error's "Received:" part; takes anything that can be streamed.
struct Received {
  template <class T>
  Received(std::string_view name, const T& value) : name(name) {
    std::ostringstream text;
    text << std::boolalpha << value;
    this->value = text.str();
  }
  // What was received.
  std::string name;
  // Its value, as text.
  std::string value;
};

// Every failure the framework reports: `<who>: <expected>. Received: <name>=<value>. <how to fix>`.
class Error : public std::runtime_error {
 public:
  // With a text that is complete.
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  // With a text made of who expected what, what was received and how to fix it.
  Error(ErrorCode code, std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
        std::string_view fix = {});

  // What kind of failure it is.
  ErrorCode code() const { return code_; }
  // Only an unavailable peer may be asked again.
  bool retryable() const { return code_ == ErrorCode::Unavailable; }

 private:
  ErrorCode code_;
};

// An argument is wrong. This and the next ones are short forms for the codes thrown most.
Error invalid_argument(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
                       std::string_view fix = {});
// Something named is not there.
Error not_found(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
                std::string_view fix = {});
// Something else must be done before.
Error failed_precondition(std::string_view who, std::string_view expected,
                          std::initializer_list<Received> received = {}, std::string_view fix = {});
// What is asked is not supported.
Error unimplemented(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {},
                    std::string_view fix = {});
// The framework itself is at fault.
Error internal_error(std::string_view who, std::string_view expected, std::initializer_list<Received> received = {});

}  // namespace cohort
