#include "cohort/core/text.h"

namespace cohort {

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string titled(std::string_view kind, std::string_view name) { return std::string(kind) + " " + in_quotes(name); }

std::string path_join(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : std::string(path) + "/" + std::string(name);
}

}  // namespace cohort
