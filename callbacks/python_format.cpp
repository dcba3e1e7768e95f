#include "cohort/callbacks/python_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cohort::callbacks {
namespace {

struct FormatSpec {
  std::string fill = " ";
  char align = '>';
  char sign = '-';
  bool no_negative_zero = false, alternate = false;
  int width = 0;
  char grouping = 0;
  int precision = -1;
  char type = 0;  // 0: as Python prints it
};

// Bytes of the UTF-8 character a text begins with.
std::size_t character_size(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(size, text.size());
}

// Takes the parts of a format off its front, in Python's order.
class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  bool parse(FormatSpec& spec) {
    constexpr std::string_view kAligns = "<>=^";
    const std::size_t first = character_size(text_);
    bool has_fill = false, has_align = true;
    if (first > 0 && text_.size() > first && kAligns.find(text_[first]) != std::string_view::npos) {
      spec.fill = text_.substr(0, first);
      spec.align = text_[first];
      text_.remove_prefix(first + 1);
      has_fill = true;
    } else if (const char align = take(kAligns)) {
      spec.align = align;
    } else {
      has_align = false;
    }
    if (const char sign = take("+- ")) spec.sign = sign;
    spec.no_negative_zero = take("z") != 0;
    spec.alternate = take("#") != 0;
    if (take("0")) {
      if (!has_fill) spec.fill = "0";
      if (!has_align) spec.align = '=';
    }
    if (!number(spec.width, false)) return false;
    spec.grouping = take(",_");
    if (take(".") && !number(spec.precision, true)) return false;
    if (!text_.empty()) {
      spec.type = text_[0];
      text_.remove_prefix(1);
    }
    return text_.empty();
  }

 private:
  char take(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_[0]) == std::string_view::npos) return 0;
    const char taken = text_[0];
    text_.remove_prefix(1);
    return taken;
  }
  bool number(int& value, bool required) {
    constexpr int kMost = 999;  // more is no path
    if (text_.empty() || text_[0] < '0' || text_[0] > '9') return !required;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return error == std::errc() && value <= kMost;
  }
  std::string_view text_;
};

std::string printed(const char* pattern, int precision, double value) {
  const int size = std::snprintf(nullptr, 0, pattern, precision, value);
  std::string text(static_cast<std::size_t>(size), '\0');
  std::snprintf(text.data(), text.size() + 1, pattern, precision, value);
  return text;
}

// The digits of a number that is not negative, in C's format of a type.
std::string c_digits(double value, char type, int precision, bool alternate) {
  const std::array<char, 6> pattern = alternate ? std::array<char, 6>{'%', '#', '.', '*', type, '\0'}
                                                : std::array<char, 6>{'%', '.', '*', type, '\0', '\0'};
  return printed(pattern.data(), precision, value);
}

// Without a type: as 'g', but sooner with an exponent, and never without a digit behind the point.
std::string plain_digits(double value, int precision, bool alternate) {
  const auto with_point = [alternate](std::string digits) {
    if (alternate && digits.find('.') == std::string::npos)
      digits.insert(std::min(digits.find('e'), digits.size()), ".");
    return digits;
  };
  if (precision < 0) return with_point(python_number(value));
  precision = std::max(precision, 1);
  const std::string scientific = printed("%.*e", precision - 1, value);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  const bool with_exponent = exponent < -4 || exponent >= precision - 1;
  std::string digits = with_exponent ? scientific : printed("%.*f", precision - 1 - exponent, value);
  const std::size_t end = std::min(digits.find('e'), digits.size());
  if (!alternate && digits.find('.') != std::string::npos) {
    std::size_t kept = end;
    while (digits[kept - 1] == '0') --kept;
    if (digits[kept - 1] == '.') --kept;
    digits.erase(kept, end - kept);
  }
  if (!with_exponent && digits.find('.') == std::string::npos) digits += ".0";
  return with_point(digits);
}

std::string float_digits(double value, const FormatSpec& spec) {
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  std::string digits;
  if (std::isnan(value) || std::isinf(value)) {
    digits = std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
  } else if (spec.type == 0) {
    digits = plain_digits(value, spec.precision, spec.alternate);
  } else {
    const char type = spec.type == '%' ? 'f' : spec.type == 'n' ? 'g' : spec.type;
    digits = c_digits(spec.type == '%' ? value * 100.0 : value, type, spec.precision < 0 ? 6 : spec.precision,
                      spec.alternate);
  }
  return spec.type == '%' ? digits + "%" : digits;
}

std::string integer_digits(unsigned long long value, const FormatSpec& spec) {
  const int base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
  std::array<char, 72> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, base);
  std::string digits(text.data(), end);
  if (spec.type == 'X')
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return digits;
}

// Separators between groups of the digits before the point; zeros are digits, too, when they fill up the width.
std::string grouped(const std::string& digits, const FormatSpec& spec, std::size_t prefix) {
  if (!spec.grouping) return digits;
  const bool hexadecimal = spec.type == 'b' || spec.type == 'o' || spec.type == 'x' || spec.type == 'X';
  const std::size_t group = hexadecimal ? 4 : 3;
  std::size_t end = 0;
  while (end < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[end])) &&
         (hexadecimal || digits[end] <= '9')) {
    ++end;
  }
  if (end == 0) return digits;
  std::string whole = digits.substr(0, end);
  const std::string rest = digits.substr(end);
  const auto with_separators = [&] {
    std::string text = whole;
    for (std::size_t at = text.size(); at > group;) text.insert(at -= group, 1, spec.grouping);
    return text;
  };
  std::string text = with_separators();
  while (spec.fill == "0" && spec.align == '=' &&
         prefix + text.size() + rest.size() < static_cast<std::size_t>(spec.width)) {
    whole.insert(0, 1, '0');
    text = with_separators();
  }
  return text + rest;
}

std::string padded(const std::string& prefix, const std::string& digits, const FormatSpec& spec) {
  const std::size_t size = prefix.size() + digits.size();
  const std::size_t missing =
      static_cast<std::size_t>(spec.width) > size ? static_cast<std::size_t>(spec.width) - size : 0;
  const std::size_t left = spec.align == '<' ? 0 : spec.align == '^' ? missing / 2 : missing;
  const auto fill = [&spec](std::size_t count) {
    std::string text;
    while (count-- > 0) text += spec.fill;
    return text;
  };
  if (spec.align == '=') return prefix + fill(missing) + digits;
  return fill(left) + prefix + digits + fill(missing - left);
}

bool allowed(const FormatSpec& spec, bool integer) {
  constexpr std::string_view kOfFloats("\0eEfFgGn%", 9), kOfIntegers("\0bcdoxXneEfFgG%", 15);
  if ((integer ? kOfIntegers : kOfFloats).find(spec.type) == std::string_view::npos) return false;
  const bool as_integer = integer && std::string_view("\0bcdoxXn", 8).find(spec.type) != std::string_view::npos;
  if (as_integer && (spec.precision >= 0 || spec.no_negative_zero)) return false;
  if (spec.grouping && (spec.type == 'n' || spec.type == 'c')) return false;
  return spec.grouping != ',' || std::string_view("boxX").find(spec.type) == std::string_view::npos;
}

}  // namespace

std::string python_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 400> text{};
  const double size = std::abs(value);
  // Python writes plain digits from 0.0001 up to sixteen places, else an exponent.
  const bool plain = value == 0.0 || (size >= 1e-4 && size < 1e16);
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string result(text.data(), end);
  if (plain && result.find('.') == std::string::npos) result += ".0";
  return result;
}

std::optional<std::string> python_format(double value, bool integer, std::string_view format) {
  FormatSpec spec;
  if (!SpecParser(format).parse(spec) || !allowed(spec, integer) || spec.type == 'c') return std::nullopt;
  const bool as_integer = integer && std::string_view("\0bdoxXn", 7).find(spec.type) != std::string_view::npos;
  const double size = std::abs(value);
  std::string digits =
      as_integer ? integer_digits(static_cast<unsigned long long>(size), spec) : float_digits(size, spec);
  bool negative = std::signbit(value) && !std::isnan(value) && !(as_integer && size == 0.0);
  if (spec.no_negative_zero && digits.find_first_of("123456789") == std::string::npos && !std::isinf(value)) {
    negative = false;
  }
  std::string prefix = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (as_integer && spec.alternate && std::string_view("boxX").find(spec.type) != std::string_view::npos) {
    prefix += std::string("0") + spec.type;
  }
  return padded(prefix, grouped(digits, spec, prefix.size()), spec);
}

}  // namespace cohort::callbacks
