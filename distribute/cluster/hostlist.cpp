#include "cohort/distribute/cluster/hostlist.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/address.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kLongestHost = 255, kMostDigits = 18;

bool parse_digits(std::string_view text, std::int64_t& number) {
  if (text.empty() || text.size() > kMostDigits) return false;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return true;
}

// What stands before the next of these characters, which is taken too.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

class HostlistReader {
 public:
  HostlistReader(std::string_view text, std::string_view who) : text_(text), who_(who) {}

  std::vector<std::string> read() const {
    std::vector<std::string> hosts;
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::vector<std::string> some = read_item(take_item(rest));
      if (hosts.size() + some.size() > kMostHosts) refuse("It names too many hosts.");
      hosts.insert(hosts.end(), some.begin(), some.end());
    }
    if (hosts.empty()) refuse("It names no host.");
    return hosts;
  }

 private:
  // Up to the next comma outside of brackets.
  static std::string_view take_item(std::string_view& rest) {
    bool within = false;
    std::size_t end = 0;
    for (; end < rest.size() && (within || rest[end] != ','); ++end) {
      if (rest[end] == '[') within = true;
      if (rest[end] == ']') within = false;
    }
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return item;
  }

  std::vector<std::string> read_item(std::string_view item) const {
    std::vector<std::string> names;
    while (!item.empty()) {
      std::vector<std::string> parts;
      if (item.front() == '[') {
        const std::size_t end = item.find(']');
        if (end == std::string_view::npos) refuse("A bracket is not closed.");
        parts = read_ranges(item.substr(1, end - 1));
        item.remove_prefix(end + 1);
      } else {
        const std::size_t end = std::min(item.find('['), item.size());
        parts.emplace_back(item.substr(0, end));
        if (!std::all_of(parts[0].begin(), parts[0].end(), is_host_character))
          refuse("A host has letters, digits, '.', '-' and '_' only.");
        item.remove_prefix(end);
      }
      names = names.empty() ? std::move(parts) : product(names, parts);
      if (std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.size() > kLongestHost; }))
        refuse("A host's name has 255 characters at most.");
    }
    return names;
  }

  std::vector<std::string> read_ranges(std::string_view ranges) const {
    std::vector<std::string> numbers;
    for (bool more = true; more;) {
      more = ranges.find(',') != std::string_view::npos;
      std::string_view high = take_until(ranges, ',');
      const bool single = high.find('-') == std::string_view::npos;
      const std::string_view low = single ? high : take_until(high, '-');
      std::int64_t first = 0, last = 0;
      if (!parse_digits(low, first) || !parse_digits(high, last) || first > last)
        refuse("Brackets hold numbers and ranges: \"n[1-3,7]\".");
      if (static_cast<std::size_t>(last - first) >= kMostHosts - numbers.size()) refuse("It names too many hosts.");
      for (std::int64_t number = first; number <= last; ++number) {
        const std::string digits = std::to_string(number);
        numbers.push_back(std::string(low.size() - std::min(low.size(), digits.size()), '0') + digits);
      }
    }
    return numbers;
  }

  std::vector<std::string> product(const std::vector<std::string>& heads, const std::vector<std::string>& tails) const {
    if (heads.size() * tails.size() > kMostHosts) refuse("It names too many hosts.");
    std::vector<std::string> names;
    names.reserve(heads.size() * tails.size());
    for (const std::string& head : heads)
      for (const std::string& tail : tails) names.push_back(head + tail);
    return names;
  }

  [[noreturn]] void refuse(std::string_view fix) const {
    throw invalid_argument(who_, "a list of hosts as Slurm writes it is expected, for example \"n[1-3,7],m5\"",
                           {{"hosts", text_.substr(0, 300)}}, fix);
  }

  std::string_view text_, who_;
};

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view text, std::string_view who) {
  return HostlistReader(text, who).read();
}

std::vector<std::int64_t> expand_task_counts(std::string_view text, std::string_view who) {
  const auto refuse = [&] {
    return invalid_argument(who, "numbers of tasks as Slurm writes them are expected, for example \"2(x3),1\"",
                            {{"tasks_per_node", text.substr(0, 300)}});
  };
  std::vector<std::int64_t> counts;
  std::string_view rest = text;
  for (bool more = true; more;) {
    more = rest.find(',') != std::string_view::npos;
    std::string_view times = take_until(rest, ',');
    const bool repeated = times.find('(') != std::string_view::npos;
    const std::string_view number = take_until(times, '(');
    std::int64_t count = 0, repeats = 1;
    if (repeated) {
      if (!times.starts_with('x') || !times.ends_with(')')) throw refuse();
      if (!parse_digits(times.substr(1, times.size() - 2), repeats)) throw refuse();
    }
    if (!parse_digits(number, count) || count > static_cast<std::int64_t>(kMostHosts)) throw refuse();
    if (static_cast<std::size_t>(repeats) > kMostHosts - counts.size()) throw refuse();
    counts.insert(counts.end(), static_cast<std::size_t>(repeats), count);
  }
  return counts;
}

}  // namespace cohort::distribute
