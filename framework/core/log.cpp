#include "cohort/core/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace cohort::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::Debug:
      return spdlog::level::debug;
    case Level::Info:
      return spdlog::level::info;
    case Level::Warn:
      return spdlog::level::warn;
    case Level::Error:
      return spdlog::level::err;
    case Level::Off:
      break;
  }
  return spdlog::level::off;
}

void choose_level(spdlog::logger& logger) {
  const char* given = std::getenv("COHORT_LOG_LEVEL");
  const std::string name = given ? given : "info";
  logger.set_level(spdlog::level::from_str(name));
  // from_str answers "off" to what it does not know.
  if (logger.level() == spdlog::level::off && name != "off") {
    logger.set_level(spdlog::level::info);
    logger.warn("COHORT_LOG_LEVEL: must be debug, info, warn, error or off. Received: COHORT_LOG_LEVEL=" + name + ".");
  }
}

// Never destroyed: threads may still report while statics go down.
spdlog::logger& logger() {
  static spdlog::logger* instance = [] {
    auto* fresh = new spdlog::logger("cohort", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    fresh->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
    fresh->flush_on(spdlog::level::warn);
    choose_level(*fresh);
    return fresh;
  }();
  return *instance;
}

void write(Level level, std::string_view message) {
  logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace

void debug(std::string_view message) { write(Level::Debug, message); }
void info(std::string_view message) { write(Level::Info, message); }
void warn(std::string_view message) { write(Level::Warn, message); }
void error(std::string_view message) { write(Level::Error, message); }

bool enabled(Level level) { return logger().should_log(to_spdlog(level)); }

Level level() {
  for (Level each : {Level::Debug, Level::Info, Level::Warn, Level::Error}) {
    if (enabled(each)) return each;
  }
  return Level::Off;
}

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

}  // namespace cohort::log
