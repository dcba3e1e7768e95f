#pragma once

#include <string_view>

namespace cohort {

// Gives a type of device the kernels of cond, while_loop, scan and calls, whose graphs run on it. The CPU and GPUs have
// them.
void register_control_flow(std::string_view device_type);

}  // namespace cohort
