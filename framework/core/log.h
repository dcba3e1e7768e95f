#pragma once

#include <string_view>

// Lines for people, on standard error. The environment variable COHORT_LOG_LEVEL (debug, info, warn, error, off)
// decides which are shown; info and above unless it is set. Thread-safe.
namespace cohort::log {

enum class Level { Debug, Info, Warn, Error, Off };

void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

// True when a message of this level is shown: lets callers skip composing one that is not.
bool enabled(Level level);
Level level();
void set_level(Level level);

}  // namespace cohort::log
