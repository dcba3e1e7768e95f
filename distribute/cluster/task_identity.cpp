#include "cohort/distribute/cluster/task_identity.h"

#include <algorithm>
#include <charconv>

#include "cohort/distribute/cluster/address.h"

namespace cohort::distribute {
namespace {

constexpr std::string_view kScheme = "cohort://";

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), is_host_character);
}

std::optional<std::int64_t> parse_task_index(std::string_view text) {
  std::int64_t index = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), index);
  // One way to write each: names are compared as numbers here and as texts elsewhere.
  if (problem != std::errc() || index < 0 || std::to_string(index) != text) return std::nullopt;
  return index;
}

}  // namespace

std::string TaskIdentity::uri() const {
  return std::string(kScheme) + cluster + "/" + job + "/" + std::to_string(index);
}

std::optional<TaskIdentity> parse_identity(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const std::size_t first = uri.find('/'), last = uri.rfind('/');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::string_view cluster = uri.substr(0, first), job = uri.substr(first + 1, last - first - 1);
  const auto index = parse_task_index(uri.substr(last + 1));
  if (!index || !is_name(cluster) || !is_name(job)) return std::nullopt;
  return TaskIdentity{std::string(cluster), std::string(job), *index};
}

std::optional<TaskIdentity> identity_of_task(std::string_view cluster, std::string_view task) {
  const std::size_t colon = task.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view job = task.substr(0, colon);
  const auto index = parse_task_index(task.substr(colon + 1));
  if (!index || !is_name(job)) return std::nullopt;
  return TaskIdentity{std::string(cluster), std::string(job), *index};
}

}  // namespace cohort::distribute
