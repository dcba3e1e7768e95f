#include "cohort/model/fit/logs.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {

Logs& Logs::operator=(const Logs& other) {
  if (this != &other) {
    entries_ = other.entries();
    source_ = nullptr;
  }
  return *this;
}

Logs& Logs::operator=(Logs&& other) {
  if (this != &other) {
    other.entries();
    entries_ = std::move(other.entries_);
    source_ = nullptr;
  }
  return *this;
}

// What was there stays, so that the source writes into its memory.
void Logs::read_when_looked_at(LogsSource& source) { source_ = &source; }

const std::vector<Logs::Entry>& Logs::entries() const {
  if (LogsSource* source = std::exchange(source_, nullptr)) source->read_logs(const_cast<Logs&>(*this));
  return entries_;
}

void Logs::clear() {
  entries_.clear();
  source_ = nullptr;
}

void Logs::set(std::string_view name, double value) {
  entries();
  for (Entry& entry : entries_) {
    if (entry.first == name) {
      entry.second = value;
      return;
    }
  }
  entries_.emplace_back(name, value);
}

std::optional<double> Logs::find(std::string_view name) const {
  for (const Entry& entry : entries()) {
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
  entries();
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
}

}  // namespace cohort
