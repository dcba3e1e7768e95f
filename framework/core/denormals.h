#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace cohort {

// While it lives, its thread takes denormal numbers for zero, as operands and as results: processors compute with them
// many times slower. The thread's own mode comes back with its end. Scopes nest; an inner one only looks.
class FlushDenormals {
 public:
  FlushDenormals() : before_(mode()) {
    if ((before_ & kFlush) != kFlush) set_mode(before_ | kFlush);
  }
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) set_mode((mode() & ~kFlush) | (before_ & kFlush));
  }
  FlushDenormals(const FlushDenormals&) = delete;

  // Whether the calling thread flushes.
  static bool active() { return kFlush != 0 && (mode() & kFlush) == kFlush; }

 private:
#if defined(__x86_64__)
  using Mode = std::uint32_t;
  static constexpr Mode kFlush = 1u << 15 | 1u << 6;  // flush to zero, denormals are zeros
  static Mode mode() { return _mm_getcsr(); }
  static void set_mode(Mode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
  using Mode = std::uint64_t;
  static constexpr Mode kFlush = 1u << 24;  // FZ: float32 and float64, operands and results
  static Mode mode() {
    Mode mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void set_mode(Mode mode) { asm volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#else
  using Mode = std::uint32_t;
  static constexpr Mode kFlush = 0;
  static Mode mode() { return 0; }
  static void set_mode(Mode) {}
#endif

  Mode before_;
};

}  // namespace cohort
