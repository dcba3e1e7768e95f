#pragma once

namespace cohort::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kTimesSlower = 5;
#else
inline constexpr int kTimesSlower = 1;
#endif

// How long to wait here for what comes within `time` by itself: sanitizers slow a program down, and tests that run side
// by side under them slow each other down.
template <class Time>
constexpr Time patience(Time time) {
  return time * kTimesSlower;
}

}  // namespace cohort::test
