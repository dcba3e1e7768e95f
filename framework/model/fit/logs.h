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
  // A figure's name and value.
  using Entry = std::pair<std::string, double>;

  Logs() = default;
  Logs(std::initializer_list<Entry> entries) : entries_(entries) {}

  // Changes a figure in place, or appends it.
  void set(std::string_view name, double value);
  // Whether there is a figure of this name.
  bool has(std::string_view name) const { return find(name).has_value(); }
  // A figure's value; none when there is no such figure.
  std::optional<double> find(std::string_view name) const;
  // A figure's value; throws NotFound, listing what there is.
  double at(std::string_view name) const;
  // at().
  double operator[](std::string_view name) const { return at(name); }
  // Puts the figures in the order of their names.
  void sort_by_name();
  // Removes all figures.
  void clear() { entries_.clear(); }

  // True when there is no figure.
  bool empty() const { return entries_.empty(); }
  // Number of figures.
  std::size_t size() const { return entries_.size(); }
  // Iterators over (name, value).
  auto begin() const { return entries_.begin(); }
  // The end of the figures.
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace cohort
