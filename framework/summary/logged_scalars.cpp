#include "cohort/summary/logged_scalars.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/record.h"
#include "cohort/summary/event.h"

namespace cohort::summary {
namespace {

using LoggedScalars = std::map<std::pair<std::string, std::int64_t>, int>;

void count_scalars(const std::string& file, LoggedScalars& counts) {
  const std::string bytes = read_file(file);
  std::size_t position = 0;
  std::string_view record;
  while (next_record(bytes, position, record)) {
    Event event;
    if (!event.ParseFromArray(record.data(), static_cast<int>(record.size()))) return;
    for (const Summary::Value& value : event.summary().value()) ++counts[{value.tag(), event.step()}];
  }
}

}  // namespace

LoggedScalars logged_scalars(const std::string& log_dir) {
  LoggedScalars counts;
  std::error_code not_there;
  for (const auto& entry : std::filesystem::directory_iterator(log_dir, not_there)) {
    if (entry.path().filename().string().find(".tfevents.") == std::string::npos) continue;
    try {
      count_scalars(entry.path().string(), counts);
    } catch (const Error& error) {
      log::warn(std::string("EventWriter: what lies behind the damage in an older file is logged again. ") +
                error.what());
    }
  }
  return counts;
}

}  // namespace cohort::summary
