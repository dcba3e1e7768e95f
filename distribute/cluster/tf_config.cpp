#include "cohort/distribute/cluster/tf_config.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

using Json = nlohmann::json;
using Who = std::string_view;

constexpr const char* kExample =
    R"(Write it as {"cluster": {"worker": ["host:port"], "ps": ["host:port"]}, "task": {"type": "worker", "index": 0}}.)";

// Of a text as long as a big cluster's, errors show the beginning.
std::string shortened(std::string text) {
  constexpr std::size_t kShown = 300;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

std::string dumped(const Json& value) { return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace)); }

Json parse_json(std::string_view text, Who who) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    std::string reason = error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 3: ..."
    if (const std::size_t end = reason.find("] "); end != std::string::npos) reason = reason.substr(end + 2);
    throw invalid_argument(who, "must be JSON; " + reason, {{"text", shortened(std::string(text))}}, kExample);
  }
}

// The entry under a key, or null when there is none.
const Json& entry(const Json& object, const char* key) {
  static const Json kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string text_entry(const Json& object, const char* key, Who who) {
  const Json& value = entry(object, key);
  if (value.is_null()) return {};
  if (!value.is_string())
    throw invalid_argument(who, "\"" + std::string(key) + "\" must be a string", {{key, dumped(value)}});
  return value.get<std::string>();
}

bool parse_index(std::string_view text, std::int64_t& index) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), index);
  return problem == std::errc() && end == text.data() + text.size() && index >= 0;
}

// Schedulers write the index as a number or, from templates, as a string of digits.
std::int64_t task_index(const Json& value, Who who) {
  std::int64_t index = -1;
  if (value.is_number_integer()) index = value.get<std::int64_t>();
  if (index < 0 && !(value.is_string() && parse_index(value.get<std::string>(), index))) {
    throw invalid_argument(who, "\"index\" of \"task\" must be a whole number from 0", {{"index", dumped(value)}},
                           kExample);
  }
  return index;
}

ClusterSpec::Tasks tasks_of(const std::string& job, const Json& value, Who who) {
  const auto address = [&](const Json& given) {
    if (!given.is_string()) {
      throw invalid_argument(who, "addresses of the job '" + job + "' must be strings \"host:port\"",
                             {{"address", dumped(given)}});
    }
    return given.get<std::string>();
  };
  ClusterSpec::Tasks tasks;
  if (value.is_array()) {
    for (const Json& given : value) tasks.emplace(static_cast<std::int64_t>(tasks.size()), address(given));
    return tasks;
  }
  if (value.is_object()) {
    for (const auto& [key, given] : value.items()) {
      std::int64_t index = 0;
      if (!parse_index(key, index))
        throw invalid_argument(who, "task indices of the job '" + job + "' must be whole numbers", {{"index", key}});
      tasks.emplace(index, address(given));
    }
    return tasks;
  }
  throw invalid_argument(who, "the job '" + job + "' must be a list of addresses, or an object {index: address}",
                         {{job, dumped(value)}}, kExample);
}

ClusterSpec cluster_of(const Json& cluster, Who who) {
  if (cluster.is_null()) return {};
  if (!cluster.is_object()) {
    throw invalid_argument(who, "\"cluster\" must be an object {job: [address]}", {{"cluster", dumped(cluster)}},
                           kExample);
  }
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (const auto& [job, tasks] : cluster.items()) jobs.emplace(job, tasks_of(job, tasks, who));
  try {
    return ClusterSpec(std::move(jobs));
  } catch (const Error& error) {  // whoever wrote the text is to know where to look
    throw Error(error.code(), std::string(who) + ": " + error.what());
  }
}

}  // namespace

TFConfig parse_tf_config(std::string_view text, std::string_view who) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  const Json root = parse_json(text, who);
  if (!root.is_object()) throw invalid_argument(who, "must be a JSON object", {{"text", dumped(root)}}, kExample);

  TFConfig config;
  config.cluster = cluster_of(entry(root, "cluster"), who);
  if (const Json& task = entry(root, "task"); !task.is_null()) {
    if (!task.is_object())
      throw invalid_argument(who, "\"task\" must be an object", {{"task", dumped(task)}}, kExample);
    config.task_type = text_entry(task, "type", who);
    if (const Json& index = entry(task, "index"); !index.is_null()) config.task_id = task_index(index, who);
  }
  config.rpc_layer = text_entry(root, "rpc_layer", who);
  config.environment = text_entry(root, "environment", who);
  config.session_master = text_entry(root, "session_master", who);
  return config;
}

ClusterSpec parse_cluster_spec(std::string_view text, std::string_view who) {
  return cluster_of(parse_json(text, who), who);
}

std::string to_tf_config(const ClusterSpec& spec, std::string_view task_type, std::int64_t task_id) {
  Json root = {{"cluster", Json::parse(spec.as_text())}};
  root["task"] = {{"type", task_type}, {"index", task_id}};
  return root.dump();
}

}  // namespace cohort::distribute
