#pragma once

#include <string>
#include <string_view>

#include "cohort/model/logs.h"

namespace cohort::callbacks {

// A number as Python prints it: the shortest text that reads back as the same value, "0.1", "1.0", "1e-05".
std::string python_number(double value);

// Fills a path like "ckpt/{epoch:02d}-{val_loss:.2f}.keras" with figures. `integers` and `logs` are looked up by name;
// {name}, {name:5.2f}, {name:02d} are understood, {{ and }} are braces. `who` is for errors.
std::string format_path(std::string_view pattern, const Logs& integers, const Logs& logs, std::string_view who);

}  // namespace cohort::callbacks
