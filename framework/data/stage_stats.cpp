#include "cohort/data/stage_stats.h"

#include <algorithm>
#include <cstdio>

namespace cohort {
namespace {

constexpr std::size_t kIndent = 2, kMostOfLine = 160;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string name_of(const StageStats& stage) {
  return std::string(kIndent * static_cast<std::size_t>(stage.depth), ' ') + stage.stage;
}

}  // namespace

std::string to_string(const DatasetStats& stats) {
  std::size_t width = 0;
  for (const StageStats& stage : stats) width = std::max(width, name_of(stage).size());
  char line[kMostOfLine];
  std::snprintf(line, sizeof line, " %11s %12s %10s %9s %9s %9s %8s %6s\n", "elements", "elements/s", "MB", "own s",
                "input s", "idle s", "parallel", "errors");
  std::string text = padded("stage", width) + line;
  for (const StageStats& stage : stats) {
    std::snprintf(line, sizeof line, " %11llu %12.1f %10.1f %9.3f %9.3f %9.3f %8llu %6llu\n",
                  static_cast<unsigned long long>(stage.elements), stage.elements_per_second, stage.bytes / 1e6,
                  stage.own_seconds, stage.seconds_waiting_for_input, stage.seconds_waiting_for_consumer,
                  static_cast<unsigned long long>(stage.parallelism), static_cast<unsigned long long>(stage.errors));
    text += padded(name_of(stage), width) + line;
  }
  return text;
}

const StageStats* slowest_stage(const DatasetStats& stats) {
  const auto slowest = std::max_element(stats.begin(), stats.end(), [](const StageStats& a, const StageStats& b) {
    return a.own_seconds < b.own_seconds;
  });
  return slowest == stats.end() ? nullptr : &*slowest;
}

}  // namespace cohort
