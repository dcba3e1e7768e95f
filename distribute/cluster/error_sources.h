#pragma once

namespace cohort::distribute {

// Who an error is from, where several sources speak for one class.
inline constexpr const char* kParameterServerStrategy = "ParameterServerStrategy";
inline constexpr const char* kServer = "Server";

}  // namespace cohort::distribute
