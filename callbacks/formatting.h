#pragma once

#include <string>
#include <string_view>

#include "cohort/callbacks/python_format.h"
#include "cohort/model/fit/logs.h"

namespace cohort::callbacks {

// Fills a path like "ckpt/{epoch:02d}-{val_loss:.2f}.keras" with figures, as Python's str.format does. `integers` and
// `logs` are looked up by name; {{ and }} are braces. `who` is for errors.
std::string format_path(std::string_view pattern, const Logs& integers, const Logs& logs, std::string_view who);

}  // namespace cohort::callbacks
