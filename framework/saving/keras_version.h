#pragma once

namespace cohort {

// The version of Keras whose layout is written, and the backend its files name.
inline constexpr const char* kKerasVersion = "3.15.1";
inline constexpr const char* kKerasBackend = "tensorflow";

}  // namespace cohort
