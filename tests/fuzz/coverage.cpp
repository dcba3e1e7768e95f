// Shows libFuzzer the coverage of code that g++ has instrumented: g++ calls a function at every edge, libFuzzer looks
// at counters. Compiled without instrumentation.
#include <cstddef>
#include <cstdint>

namespace {

constexpr std::size_t kCounters = std::size_t{1} << 16;
// libFuzzer looks for this section.
[[gnu::section("__libfuzzer_extra_counters")]] std::uint8_t counters[kCounters];

}  // namespace

extern "C" {

// In the place of libFuzzer's own, which expects tables that only clang makes.
void __wrap___sanitizer_cov_trace_pc() {
  // Instructions are four bytes apart, or less; neighbours share no counter.
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  std::uint8_t& counter = counters[(place >> 1 ^ place >> 17) % kCounters];
  if (counter < 255) ++counter;
}

// libFuzzer does not learn from numbers that are not whole.
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}

}  // extern "C"
