#pragma once

#include <string_view>

// Lines for people, on standard error. The environment variable COHORT_LOG_LEVEL (debug, info, warn, error, off)
// decides which are shown; info and above unless it is set. Thread-safe.
namespace cohort::log {

// How much a line matters.
enum class Level { Debug, Info, Warn, Error, Off };

// Writes a line for who looks for a fault.
void debug(std::string_view message);
// Writes a line that is worth knowing.
void info(std::string_view message);
// Writes a line about something that may be wrong.
void warn(std::string_view message);
// Writes a line about something that went wrong.
void error(std::string_view message);

// True when a message of this level is shown: lets callers skip composing one that is not.
bool enabled(Level level);
// The lowest level that is shown.
Level level();
// Sets the lowest level that is shown.
void set_level(Level level);

}  // namespace cohort::log
