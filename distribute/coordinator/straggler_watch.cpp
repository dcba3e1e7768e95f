#include "cohort/distribute/coordinator/straggler_watch.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace cohort::distribute {
namespace {

std::string step_time_text(double nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", nanoseconds * 1e-6);
  return text;
}

// Of a few steps, or of a few that took long; 0: too little is known.
double mean_step(const StepTimes& before, const StepTimes& now) {
  constexpr std::uint64_t kSteps = 5, kLong = 1'000'000'000;
  const std::uint64_t steps = now.steps - before.steps, time = now.nanoseconds - before.nanoseconds;
  if (steps == 0 || (steps < kSteps && time < kLong)) return 0.0;
  return static_cast<double>(time) / static_cast<double>(steps);
}

}  // namespace

StragglerWatch::StragglerWatch(std::vector<std::string> tasks, StragglerWatchOptions options) : options_(options) {
  for (std::string& task : tasks) workers_.push_back({.task = std::move(task)});
}

std::vector<std::string> StragglerWatch::look(const std::vector<StepTimes>& times, Clock::time_point now) {
  std::vector<std::string> lines;
  if (now - since_ < options_.window) return lines;
  since_ = now;
  std::vector<double> means, known;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    means.push_back(mean_step(workers_[i].before, times[i]));
    if (means[i] == 0.0) continue;
    known.push_back(means[i]);
    workers_[i].before = times[i];
  }
  if (known.size() < 2) return lines;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), middle, known.end());
  const double median = *middle, least = static_cast<double>(std::chrono::nanoseconds(options_.least).count());
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    if (means[i] == 0.0) continue;
    const bool slow = means[i] >= options_.factor * median && means[i] >= median + least;
    if (slow && worker.slow && !worker.named) {
      worker.named = true;
      lines.push_back(worker.task + " is a straggler: its steps take " + step_time_text(means[i]) +
                      ", against a median of " + step_time_text(median) + " of " + std::to_string(known.size()) +
                      " workers");
    }
    worker.slow = slow;
  }
  return lines;
}

}  // namespace cohort::distribute
