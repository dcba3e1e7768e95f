#include "cohort/callbacks/formatting.h"

#include <algorithm>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::callbacks {
namespace {

// Fills the fields of one pattern.
class PathFormatter {
 public:
  PathFormatter(std::string_view pattern, const Logs& integers, const Logs& logs, std::string_view who)
      : pattern_(pattern), integers_(integers), logs_(logs), who_(who) {}

  std::string format() const {
    std::string path;
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      const char c = pattern_[i];
      if ((c == '{' || c == '}') && i + 1 < pattern_.size() && pattern_[i + 1] == c) {
        path += c;
        ++i;
      } else if (c == '}') {
        throw malformed("}", "every } of a path closes a {");
      } else if (c != '{') {
        path += c;
      } else {
        const std::size_t end = pattern_.find('}', i);
        if (end == std::string_view::npos) throw malformed(pattern_.substr(i), "every { of a path is closed by a }");
        path += filled(pattern_.substr(i + 1, end - i - 1));
        i = end;
      }
    }
    return path;
  }

 private:
  // "name", "name:format" or "name!r".
  std::string filled(std::string_view field) const {
    const std::size_t colon = std::min(field.find(':'), field.size());
    std::string_view name = field.substr(0, colon);
    const std::string_view format = field.substr(std::min(colon + 1, field.size()));
    const bool converted = name.ends_with("!r") || name.ends_with("!s") || name.ends_with("!a");
    if (converted) name.remove_suffix(2);
    const std::optional<double> integer = integers_.find(name), real = logs_.find(name);
    if (!integer && !real) throw malformed(name, "a field of a path names a figure that is logged");
    const std::optional<std::string> text = python_format(integer ? *integer : *real, integer.has_value(), format);
    if (!text || (converted && !format.empty())) {
      throw malformed(field, "a field of a path has one of Python's formats, like {epoch:02d} or {val_loss:.2f}");
    }
    return *text;
  }

  Error malformed(std::string_view field, std::string_view expected) const {
    std::vector<std::string> known;
    for (const Logs* each : {&integers_, &logs_}) {
      for (const auto& [name, value] : *each) known.push_back(name);
    }
    return invalid_argument(who_, expected, {{"filepath", pattern_}, {"field", field}},
                            "Known figures: " + join(known) + ".");
  }

  std::string_view pattern_;
  const Logs& integers_;
  const Logs& logs_;
  std::string_view who_;
};

}  // namespace

std::string format_path(std::string_view pattern, const Logs& integers, const Logs& logs, std::string_view who) {
  return PathFormatter(pattern, integers, logs, who).format();
}

}  // namespace cohort::callbacks
