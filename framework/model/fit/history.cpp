#include "cohort/model/fit/history.h"

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {

const std::vector<double>& History::operator[](std::string_view name) const {
  for (const auto& [each, values] : series_) {
    if (each == name) return values;
  }
  throw not_found("History", "the name of a figure is expected", {{"name", in_quotes(name)}},
                  "There are: " + join(series_, [](const auto& each) { return each.first; }) + ".");
}

bool History::has(std::string_view name) const {
  for (const auto& [each, values] : series_) {
    if (each == name) return true;
  }
  return false;
}

void History::append(std::int64_t epoch, const Logs& logs) {
  epoch_.push_back(epoch);
  for (const auto& [name, value] : logs) {
    auto at = series_.begin();
    while (at != series_.end() && at->first != name) ++at;
    if (at == series_.end()) at = series_.insert(at, {name, {}});
    at->second.push_back(value);
  }
}

void History::clear() {
  epoch_.clear();
  series_.clear();
}

}  // namespace cohort
