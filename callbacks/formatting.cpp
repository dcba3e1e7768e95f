#include "cohort/callbacks/formatting.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "cohort/core/error.h"

namespace cohort::callbacks {
namespace {

struct Spec {
  bool zeros = false;
  int width = 0;
  int precision = -1;
  char type = 0;  // 0: as Python prints it
};

// "02d", "5.2f", ".3e": what format strings of file names use.
bool parse_spec(std::string_view text, Spec& spec) {
  const auto number = [&text](int& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value > 99) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (text.starts_with('0')) spec.zeros = true;
  if (!text.empty() && text[0] >= '0' && text[0] <= '9' && !number(spec.width)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (text.empty() || text[0] < '0' || text[0] > '9' || !number(spec.precision)) return false;
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  return text.empty() && std::string_view("\0dfeg", 5).find(spec.type) != std::string_view::npos;
}

std::string pad(std::string text, const Spec& spec) {
  const auto width = static_cast<std::size_t>(spec.width);
  if (text.size() >= width) return text;
  const std::size_t sign = spec.zeros && text.starts_with('-') ? 1 : 0;
  text.insert(sign, width - text.size(), spec.zeros ? '0' : ' ');
  return text;
}

std::string format_number(double value, bool integer, const Spec& spec) {
  if (spec.type == 'd' || (integer && spec.type == 0 && spec.precision < 0)) {
    return pad(std::to_string(static_cast<long long>(value)), spec);
  }
  if (spec.type == 0 && spec.precision < 0) return pad(python_number(value), spec);
  const char pattern[] = {'%', '.', '*', spec.type == 0 ? 'g' : spec.type, '\0'};
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), pattern, spec.precision < 0 ? 6 : spec.precision, value);
  return pad(text.data(), spec);
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

std::string format_path(std::string_view pattern, const Logs& integers, const Logs& logs, std::string_view who) {
  const auto bad = [&](std::string_view field, std::string_view expected) {
    std::string known;
    for (const Logs* each : {&integers, &logs}) {
      for (const auto& [name, value] : *each) known += (known.empty() ? "" : ", ") + name;
    }
    return invalid_argument(who, expected, {{"filepath", pattern}, {"field", field}}, "Known figures: " + known + ".");
  };
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if ((c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c) {
      path += c;
      ++i;
    } else if (c == '}') {
      throw bad("}", "every } of a path closes a {");
    } else if (c != '{') {
      path += c;
    } else {
      const std::size_t end = pattern.find('}', i);
      if (end == std::string_view::npos) throw bad(pattern.substr(i), "every { of a path is closed by a }");
      const std::string_view field = pattern.substr(i + 1, end - i - 1);
      const std::size_t colon = std::min(field.find(':'), field.size());
      const std::string_view name = field.substr(0, colon);
      Spec spec;
      if (!parse_spec(field.substr(std::min(colon + 1, field.size())), spec)) {
        throw bad(field, "a field of a path has a format like {epoch:02d} or {val_loss:.2f}");
      }
      const std::optional<double> integer = integers.find(name), real = logs.find(name);
      if (!integer && !real) throw bad(name, "a field of a path names a figure that is logged");
      if (!integer && spec.type == 'd') throw bad(field, "a figure that is not whole is formatted with f, e or g");
      path += format_number(integer ? *integer : *real, integer.has_value(), spec);
      i = end;
    }
  }
  return path;
}

}  // namespace cohort::callbacks
