#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort::callbacks {

// A number as Python prints it: the shortest text that reads back as the same value, "0.1", "1.0", "1e-05".
std::string python_number(double value);

// A number under a format of Python's: "02d", "5.2f", "+.3e", ",", "*^8.1%". `integer` says whether it is an int there.
// Nothing when Python would refuse the format for such a number.
std::optional<std::string> python_format(double value, bool integer, std::string_view format);

}  // namespace cohort::callbacks
