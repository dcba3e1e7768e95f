#include "cohort/saving/checkpoint_state.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/files/atomic_file.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

const std::string kStateFile = "checkpoint";
const std::string kIndexSuffix = ".index";

std::string state_file(const std::string& folder) { return (fs::path(folder) / kStateFile).string(); }

bool is_there(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  return !name.empty() && fs::exists(fs::path(folder) / (name + kIndexSuffix), ignored);
}

std::string checkpoint_name_from(const Json& json) {
  const auto name = json.get<std::string>();
  if (name.find('/') != std::string::npos) throw invalid_argument("checkpoint", "a plain name", {{"name", name}});
  return name;
}

CheckpointState state_from(const Json& json) {
  CheckpointState state{.latest = checkpoint_name_from(json.at("model_checkpoint_path")),
                        .last_preserved = json.at("last_preserved_timestamp").get<double>()};
  const Json& times = json.at("all_model_checkpoint_timestamps");
  for (const Json& name : json.at("all_model_checkpoint_paths")) {
    state.all.push_back({checkpoint_name_from(name), times.at(state.all.size()).get<double>()});
  }
  return state;
}

}  // namespace

std::optional<CheckpointState> read_checkpoint_state(const std::string& folder) {
  std::error_code ignored;
  const std::string file = state_file(folder);
  if (!fs::exists(file, ignored)) return std::nullopt;
  try {
    return state_from(parse_json(read_file(file), file));
  } catch (const std::exception& error) {
    log::warn(
        "Checkpoint: the folder's own list is not readable, and its files are looked at instead. Received: file=" +
        file + ", problem=" + error.what());
    return std::nullopt;
  }
}

void write_checkpoint_state(const std::string& folder, const CheckpointState& state) {
  Json names = Json::array(), times = Json::array();
  for (const CheckpointState::Entry& entry : state.all) {
    names.push_back(entry.name);
    times.push_back(entry.time);
  }
  const Json json{{"model_checkpoint_path", state.latest},
                  {"all_model_checkpoint_paths", std::move(names)},
                  {"all_model_checkpoint_timestamps", std::move(times)},
                  {"last_preserved_timestamp", state.last_preserved}};
  write_file_atomically(state_file(folder), dump_json(json) + "\n");
}

void remove_checkpoint_state(const std::string& folder) {
  std::error_code ignored;  // it names what is gone already
  fs::remove(state_file(folder), ignored);
}

std::optional<std::string> latest_checkpoint(const std::string& folder) {
  const std::optional<CheckpointState> state = read_checkpoint_state(folder);
  if (state && is_there(folder, state->latest)) return (fs::path(folder) / state->latest).string();
  const std::vector<std::string> names = checkpoints_in(folder);
  if (names.empty()) return std::nullopt;
  return (fs::path(folder) / names.back()).string();
}

std::int64_t checkpoint_number(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash + 1 == name.size()) return -1;
  std::int64_t number = -1;
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + dash + 1, end, number);
  return error == std::errc() && stopped == end && number >= 0 ? number : -1;
}

std::vector<std::string> checkpoints_in(const std::string& folder, const std::string& name) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    std::string file = entry.path().filename().string();
    if (!file.ends_with(kIndexSuffix)) continue;
    file.resize(file.size() - kIndexSuffix.size());
    const std::int64_t number = checkpoint_number(file);
    if (number < 0 || (!name.empty() && file != name + "-" + std::to_string(number))) continue;
    names.push_back(std::move(file));
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(checkpoint_number(a), a) < std::pair(checkpoint_number(b), b);
  });
  return names;
}

void note_latest_checkpoint(const std::string& path) {
  const fs::path whole(path);
  const std::string folder = whole.parent_path().empty() ? "." : whole.parent_path().string();
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  CheckpointState state = read_checkpoint_state(folder).value_or(CheckpointState{.last_preserved = now - 1.0});
  state.latest = whole.filename().string();
  std::erase_if(state.all, [&](const CheckpointState::Entry& entry) { return entry.name == state.latest; });
  state.all.push_back({state.latest, now});
  write_checkpoint_state(folder, state);
}

}  // namespace cohort
