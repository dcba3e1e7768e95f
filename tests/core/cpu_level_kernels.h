#pragma once

namespace cohort::test {

// How often the static initializers of a level ran.
extern int baseline_starts, twin_starts;

float level_of_this_function();

// Instantiated at both levels: neither may get the other's instance, nor the other's static.
template <class T>
__attribute__((noinline)) T level_of_inline_function() {
  static const T level = static_cast<T>(level_of_this_function());
  return level;
}

}  // namespace cohort::test
