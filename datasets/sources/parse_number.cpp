#include "cohort/datasets/sources/parse_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace cohort::datasets {
namespace {

// Powers of ten that the types hold exactly; whole numbers up to kMostWhole are exact too, so that one division rounds
// once.
template <class T>
struct ExactDecimals;
template <>
struct ExactDecimals<float> {
  static constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 24;
  static constexpr std::array<float, 11> kPowers{1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
};
template <>
struct ExactDecimals<double> {
  static constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 53;
  static constexpr std::array<double, 23> kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
};

constexpr std::ptrdiff_t kMostDigits = 18;  // that a 64-bit number always holds

inline unsigned digit_of(char c) { return static_cast<unsigned char>(c) - unsigned{'0'}; }

template <class T>
const char* usual_number(const char* at, const char* end, char delimiter, char* target) {
  const bool negative = at != end && *at == '-';
  at += negative;
  std::uint64_t whole = 0;
  const char* first = at;
  while (at != end && digit_of(*at) < 10) whole = whole * 10 + digit_of(*at++);
  std::ptrdiff_t digits = at - first, decimals = 0;
  if constexpr (std::is_floating_point_v<T>) {
    if (at != end && *at == '.') {
      first = ++at;
      while (at != end && digit_of(*at) < 10) whole = whole * 10 + digit_of(*at++);
      decimals = at - first;
      digits += decimals;
    }
  }
  if (digits == 0 || digits > kMostDigits || (at != end && *at != delimiter)) return nullptr;
  T value;
  if constexpr (std::is_floating_point_v<T>) {
    using Exact = ExactDecimals<T>;
    if (whole > Exact::kMostWhole || static_cast<std::size_t>(decimals) >= Exact::kPowers.size()) return nullptr;
    value = static_cast<T>(whole) / Exact::kPowers[static_cast<std::size_t>(decimals)];
    if (negative) value = -value;
  } else {
    const auto number = negative ? -static_cast<std::int64_t>(whole) : static_cast<std::int64_t>(whole);
    if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) return nullptr;
    value = static_cast<T>(number);
  }
  std::memcpy(target, &value, sizeof value);
  return at;
}

std::string_view without_spaces(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

template <class T>
bool any_number(std::string_view text, char* target) {
  if (!text.empty() && text.front() == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  T value{};
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ptr != end || text.empty()) return false;
  if constexpr (std::is_floating_point_v<T>) {
    // What is too small for the type is 0; what is too large is no number.
    if (result.ec == std::errc::result_out_of_range) {
      double wider = 0;
      const bool small = std::from_chars(text.data(), end, wider).ec == std::errc() && std::abs(wider) < 1;
      const bool tiny = small || text.find("e-") != text.npos || text.find("E-") != text.npos;
      if (!tiny) return false;
      value = std::copysign(static_cast<T>(wider), text.front() == '-' ? T{-1} : T{1});
    } else if (result.ec != std::errc()) {
      return false;
    }
  } else if (result.ec != std::errc()) {
    return false;
  }
  std::memcpy(target, &value, sizeof value);
  return true;
}

bool any_bool(std::string_view text, char* target) {
  const bool yes = text == "true" || text == "True" || text == "TRUE" || text == "1";
  const bool no = text == "false" || text == "False" || text == "FALSE" || text == "0";
  const bool value = yes;
  std::memcpy(target, &value, sizeof value);
  return yes || no;
}

}  // namespace

const char* parse_usual_number(const char* begin, const char* end, char delimiter, DType dtype, char* target) {
  switch (dtype) {
    case DType::Float32:
      return usual_number<float>(begin, end, delimiter, target);
    case DType::Float64:
      return usual_number<double>(begin, end, delimiter, target);
    case DType::Int32:
      return usual_number<std::int32_t>(begin, end, delimiter, target);
    case DType::Int64:
      return usual_number<std::int64_t>(begin, end, delimiter, target);
    default:
      return nullptr;
  }
}

bool parse_value(std::string_view text, DType dtype, char* target) {
  text = without_spaces(text);
  switch (dtype) {
    case DType::Float32:
      return any_number<float>(text, target);
    case DType::Float64:
      return any_number<double>(text, target);
    case DType::Int32:
      return any_number<std::int32_t>(text, target);
    case DType::Int64:
      return any_number<std::int64_t>(text, target);
    case DType::Bool:
      return any_bool(text, target);
    default:
      return false;
  }
}

}  // namespace cohort::datasets
