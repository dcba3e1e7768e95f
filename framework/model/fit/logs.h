#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

// Named figures of a batch, an epoch or an evaluation, in order; callbacks may add to them.
class Logs {
 public:
  using Entry = std::pair<std::string, double>;

  Logs() = default;
  Logs(std::initializer_list<Entry> entries) : entries_(entries) {}

  // Changes a figure in place, or appends it.
  void set(std::string_view name, double value);
  bool has(std::string_view name) const { return find(name).has_value(); }
  std::optional<double> find(std::string_view name) const;
  // Throws NotFound, listing what there is.
  double at(std::string_view name) const;
  double operator[](std::string_view name) const { return at(name); }
  void sort_by_name();
  void clear() { entries_.clear(); }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace cohort
