#pragma once

#include <string>
#include <vector>

namespace cohort::interop {

// Prints what a data utility gives, a line for each element, for the Python test that compares it with Keras's.
//   arguments: its name and what it takes.
void print_data_utility(const std::vector<std::string>& arguments);

}  // namespace cohort::interop
