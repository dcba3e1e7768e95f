#pragma once

#include <openssl/err.h>

#include <array>
#include <string>

#include "cohort/core/error.h"

// For sources that use OpenSSL.
namespace cohort::distribute {

// Deletes what OpenSSL has made, by its own function.
template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

// OpenSSL's own words for what went wrong last in this thread.
inline std::string openssl_problem() {
  std::array<char, 256> text{};
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  if (error == 0) return "unknown";
  ERR_error_string_n(error, text.data(), text.size());
  return text.data();
}

// What OpenSSL should have been able to do, and why it was not.
inline Error openssl_error(const char* who, const std::string& expected) {
  return Error(ErrorCode::Internal, who, expected, {{"problem", openssl_problem()}});
}

}  // namespace cohort::distribute
