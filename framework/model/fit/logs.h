#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

class Logs;

// Who has figures at hand for whoever looks at them.
class LogsSource {
 public:
  virtual ~LogsSource() = default;
  // Replaces the logs by the figures of now; never waits for a step.
  virtual void read_logs(Logs& logs) = 0;
};

// Named figures of a batch, an epoch or an evaluation, in order; callbacks may add to them. Those of a batch are worked
// out when somebody first looks at them.
class Logs {
 public:
  // A figure's name and value.
  using Entry = std::pair<std::string, double>;

  Logs() = default;
  Logs(std::initializer_list<Entry> entries) : entries_(entries) {}
  // A copy holds figures, also of logs that nobody has looked at.
  Logs(const Logs& other) : entries_(other.entries()) {}
  Logs(Logs&& other) { *this = std::move(other); }
  Logs& operator=(const Logs& other);
  Logs& operator=(Logs&& other);
  // Becomes the figures that the source, which must live as long, has when somebody first looks.
  void read_when_looked_at(LogsSource& source);

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
  void clear();

  // True when there is no figure.
  bool empty() const { return entries().empty(); }
  // Number of figures.
  std::size_t size() const { return entries().size(); }
  // Iterators over (name, value).
  auto begin() const { return entries().begin(); }
  // The end of the figures.
  auto end() const { return entries().end(); }

 private:
  const std::vector<Entry>& entries() const;

  mutable std::vector<Entry> entries_;
  mutable LogsSource* source_ = nullptr;  // where the figures still have to come from
};

}  // namespace cohort
