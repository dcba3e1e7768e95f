#include "programs/cohort/status_table.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "cohort/core/text.h"
#include "cohort/model/text_table.h"

namespace cohort::programs {
namespace {

using distribute::TaskStatus;
using StatusRow = std::vector<std::string>;

std::string scaled(double value, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof text, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

std::string time_text(double seconds) {
  if (seconds <= 0.0) return "-";
  if (seconds < 1e-3) return scaled(seconds * 1e6, "us");
  return seconds < 1.0 ? scaled(seconds * 1e3, "ms") : scaled(seconds, "s");
}

std::string uptime_text(double seconds) {
  if (seconds < 60.0) return scaled(seconds, "s");
  if (seconds < 3600.0) return scaled(seconds / 60.0, "min");
  return seconds < 48 * 3600.0 ? scaled(seconds / 3600.0, "h") : scaled(seconds / (24 * 3600.0), "d");
}

std::string count_text(std::uint64_t count) {
  return with_commas(static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX)));
}

std::string bytes_text(std::uint64_t bytes) { return memory_text(static_cast<double>(bytes)); }

std::string staleness_text(const TaskStatus& task) {
  if (task.bundles == 0 || task.steps == 0) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f (%s)", task.staleness, count_text(task.most_stale).c_str());
  return text;
}

std::string state_text(const TaskStatus& task) {
  if (!task.problem.empty()) return "no answer";
  if (task.job.empty()) return "free";
  if (!task.led) return "chief gone";
  if (task.task.starts_with("ps:")) return "serves";
  return task.running > 0 ? "works" : "idle";
}

// Of a task, or of one of its jobs, which is named where there are several in the table.
StatusRow row_of(const TaskStatus& task, bool names_job) {
  StatusRow row = {task.task, task.address, state_text(task)};
  if (!task.problem.empty()) return row;
  if (names_job) row.push_back(task.job);
  row.insert(row.end(), {task.steps > 0 ? count_text(task.steps) : "-", time_text(task.step_seconds),
                         count_text(task.in_hand), bytes_text(task.bytes_received), bytes_text(task.bytes_sent),
                         task.variable_bytes > 0 ? bytes_text(task.variable_bytes) : "-", staleness_text(task),
                         count_text(task.retries), count_text(task.recoveries), uptime_text(task.uptime)});
  return row;
}

// All but the first columns are numbers.
std::string aligned(const std::vector<StatusRow>& rows, std::size_t left_columns) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const StatusRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const StatusRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i < left_columns ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string status_table(const std::vector<TaskStatus>& tasks) {
  std::set<std::string> jobs;
  for (const TaskStatus& task : tasks) {
    for (const TaskStatus& job : task.jobs) jobs.insert(job.job);
  }
  const bool several = jobs.size() > 1;
  std::vector<StatusRow> rows = {{"TASK", "ADDRESS", "STATE", "STEPS", "STEP TIME", "QUEUE", "RECEIVED", "SENT",
                                  "VARIABLES", "STALE (MOST)", "RETRIES", "RECOVERIES", "UP"}};
  if (several) rows.front().insert(rows.front().begin() + 3, "JOB");
  std::string unanswered;
  std::size_t answered = 0;
  for (const TaskStatus& task : tasks) {
    if (task.jobs.empty()) rows.push_back(row_of(task, several));
    for (const TaskStatus& job : task.jobs) rows.push_back(row_of(job, several));
    if (task.problem.empty()) {
      ++answered;
    } else {
      unanswered += "No answer from " + task.task + " at " + task.address + ": " + task.problem + "\n";
    }
  }
  const std::string job =
      jobs.empty() ? "no job" : (several ? "jobs " : "job ") + join(std::vector(jobs.begin(), jobs.end()));
  return job + ", " + std::to_string(answered) + " of " + std::to_string(tasks.size()) + " tasks answer\n\n" +
         aligned(rows, several ? 4 : 3) + (unanswered.empty() ? "" : "\n" + unanswered);
}

}  // namespace cohort::programs
