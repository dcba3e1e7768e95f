#include "cohort/distribute/cluster/kubernetes_pods.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

using PodJson = nlohmann::json;

// A member, or null where there is none.
const PodJson& member(const PodJson& object, const char* key) {
  static const PodJson kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::string text_member(const PodJson& object, const char* key) {
  const PodJson& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Why a pod does not run, as far as Kubernetes says.
std::string waiting_reason(const PodJson& status) {
  for (const char* kind : {"initContainerStatuses", "containerStatuses"}) {
    for (const PodJson& container : member(status, kind)) {
      if (std::string why = text_member(member(member(container, "state"), "waiting"), "reason"); !why.empty())
        return why;
    }
  }
  for (const PodJson& condition : member(status, "conditions")) {
    if (text_member(condition, "type") != "PodScheduled" || text_member(condition, "status") != "False") continue;
    const std::string message = text_member(condition, "message");
    return message.empty() ? text_member(condition, "reason") : message;
  }
  return text_member(status, "reason");
}

void read_ports(const PodJson& spec, Pod& pod) {
  for (const PodJson& container : member(spec, "containers")) {
    for (const PodJson& port : member(container, "ports")) {
      const PodJson& number = member(port, "containerPort");
      if (const std::string name = text_member(port, "name"); !name.empty() && number.is_number_integer())
        pod.ports.emplace(name, number.get<int>());
    }
  }
}

Pod read_pod(const PodJson& item) {
  const PodJson &metadata = member(item, "metadata"), &spec = member(item, "spec"), &status = member(item, "status");
  Pod pod;
  pod.name = text_member(metadata, "name");
  pod.ip = text_member(status, "podIP");
  const std::string host = text_member(spec, "hostname"), subdomain = text_member(spec, "subdomain");
  if (!host.empty() && !subdomain.empty()) pod.host_name = host + "." + subdomain;
  for (const PodJson& owner : member(metadata, "ownerReferences")) {
    if (text_member(owner, "kind") == "StatefulSet") pod.stateful_set = text_member(owner, "name");
  }
  read_ports(spec, pod);

  const std::string phase = text_member(status, "phase");
  const bool deleted = !text_member(metadata, "deletionTimestamp").empty();
  pod.gone = deleted || phase == "Succeeded" || phase == "Failed";
  pod.ready = !pod.gone && phase == "Running" && !pod.ip.empty();
  const std::string reason = waiting_reason(status);
  pod.state = phase.empty() ? "Unknown" : phase;
  if (deleted) pod.state = "being deleted";
  if (!deleted && phase == "Running" && pod.ip.empty()) pod.state += " without an IP";
  if (!reason.empty()) pod.state += " (" + reason + ")";
  return pod;
}

// The name without the number at its end, and the number.
std::pair<std::string_view, std::optional<std::int64_t>> split_name(std::string_view name) {
  constexpr std::size_t kMostDigits = 18;
  const std::size_t digits = name.size() - (name.find_last_not_of("0123456789") + 1);
  if (digits == 0 || digits > kMostDigits || digits == name.size()) return {name, std::nullopt};
  const std::string_view tail = name.substr(name.size() - digits);
  std::int64_t number = 0;
  std::from_chars(tail.data(), tail.data() + tail.size(), number);
  return {name.substr(0, name.size() - digits), number};
}

std::string described_pod(const Pod& pod) { return pod.name + " " + pod.state; }

// Pods that one StatefulSet has given numbers, from 0 and without holes as it goes on to do.
PodTasks number_set(const std::vector<Pod>& pods, std::int64_t expected) {
  PodTasks result;
  std::map<std::int64_t, const Pod*> by_number;
  for (const Pod& pod : pods) by_number[*pod.ordinal()] = &pod;
  const std::int64_t count = std::max(expected, by_number.rbegin()->first + 1);
  const std::string stem(split_name(pods.front().name).first);
  constexpr std::size_t kMostNamed = 16;
  for (std::int64_t number = 0; number < count && result.awaited.size() < kMostNamed; ++number) {
    const auto found = by_number.find(number);
    if (found == by_number.end()) {
      result.awaited.push_back(stem + std::to_string(number) + " not there");
    } else if (!found->second->ready) {
      result.awaited.push_back(described_pod(*found->second));
    } else {
      result.tasks.emplace(number, *found->second);
    }
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> Pod::ordinal() const { return split_name(name).second; }

PodPage parse_pod_page(std::string_view json, std::string_view who) {
  const PodJson root = PodJson::parse(json, nullptr, false);
  const PodJson& items = member(root, "items");
  if (!root.is_object() || !items.is_array() || text_member(root, "kind") != "PodList") {
    throw Error(ErrorCode::DataLoss, who, "a list of pods is expected of Kubernetes",
                {{"answer", std::string(json.substr(0, 200))}});
  }
  PodPage page;
  page.next = text_member(member(root, "metadata"), "continue");
  for (const PodJson& item : items) {
    Pod pod = read_pod(item);
    if (!pod.name.empty()) page.pods.push_back(std::move(pod));
  }
  return page;
}

bool pod_precedes(const Pod& a, const Pod& b) {
  const auto [a_stem, a_number] = split_name(a.name);
  const auto [b_stem, b_number] = split_name(b.name);
  return std::tie(a_stem, a_number, a.name) < std::tie(b_stem, b_number, b.name);
}

PodTasks number_pods(const std::string& job, const std::vector<Pod>& pods,
                     const std::optional<std::int64_t>& expected) {
  const auto of_first_set = [&](const Pod& pod) {
    return !pod.stateful_set.empty() && pod.stateful_set == pods.front().stateful_set && pod.ordinal();
  };
  PodTasks result;
  std::int64_t count = 0;
  if (!pods.empty() && std::all_of(pods.begin(), pods.end(), of_first_set)) {
    result = number_set(pods, expected.value_or(0));
    count = static_cast<std::int64_t>(result.tasks.size() + result.awaited.size());
  } else {
    for (const Pod& pod : pods) {
      if (pod.gone) continue;
      if (pod.ready) {
        result.tasks.emplace(count, pod);
      } else {
        result.awaited.push_back(described_pod(pod));
      }
      ++count;
    }
  }
  if (count == 0 || (expected && count != *expected && result.awaited.empty())) {
    std::string text = job + ": " + std::to_string(count);
    text += expected ? " of " + std::to_string(*expected) + " pods" : " pods";
    for (const Pod& pod : pods)
      if (pod.gone) text += ", " + described_pod(pod);
    result.awaited.push_back(std::move(text));
  }
  return result;
}

}  // namespace cohort::distribute
