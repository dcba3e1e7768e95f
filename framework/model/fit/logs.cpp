#include "cohort/model/fit/logs.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {

void Logs::set(std::string_view name, double value) {
  for (Entry& entry : entries_) {
    if (entry.first == name) {
      entry.second = value;
      return;
    }
  }
  entries_.emplace_back(name, value);
}

std::optional<double> Logs::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return entry.second;
  }
  return std::nullopt;
}

double Logs::at(std::string_view name) const {
  if (const std::optional<double> value = find(name)) return *value;
  throw not_found("Logs", "the name of a figure is expected", {{"name", in_quotes(name)}},
                  "There are: " + join(entries_, &Entry::first) + ".");
}

void Logs::sort_by_name() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
}

}  // namespace cohort
