#include "cohort/core/cpu_level.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/core/thread_pool.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

// The build gives the static initializers of a level a section of their own (cmake/CohortCpuLevels.cmake), whose bounds
// the linker knows by these names; both are null where the level is not compiled in.
#define COHORT_LEVEL_SECTION(level)                                   \
  extern "C" __attribute__((weak, visibility("hidden")))              \
  const cohort::StaticInitializer __start_cohort_cpu_level_##level[]; \
  extern "C" __attribute__((weak, visibility("hidden")))              \
  const cohort::StaticInitializer __stop_cohort_cpu_level_##level[];
#define COHORT_LEVEL(level, supported) \
  { #level, supported, std::span(__start_cohort_cpu_level_##level, __stop_cohort_cpu_level_##level) }

#if defined(__x86_64__)
COHORT_LEVEL_SECTION(avx2)
COHORT_LEVEL_SECTION(avx512)
COHORT_LEVEL_SECTION(avx512bf16)
COHORT_LEVEL_SECTION(amx)
#elif defined(__aarch64__)
COHORT_LEVEL_SECTION(dotprod)
COHORT_LEVEL_SECTION(sve)
COHORT_LEVEL_SECTION(bf16)
#endif

namespace cohort {
namespace {

#if defined(__x86_64__)

// These ask the processor, and whether the operating system keeps the registers.
bool supports_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

bool supports_avx512() {
  return supports_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool supports_avx512bf16() { return supports_avx512() && __builtin_cpu_supports("avx512bf16"); }

// Tiles are so large that Linux gives them only to processes that ask, and may refuse.
bool supports_amx() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return supports_avx512bf16() && __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::vector<CpuLevel> known_levels() {
  return {COHORT_LEVEL(avx2, supports_avx2), COHORT_LEVEL(avx512, supports_avx512),
          COHORT_LEVEL(avx512bf16, supports_avx512bf16), COHORT_LEVEL(amx, supports_amx)};
}

#elif defined(__aarch64__)

bool has(unsigned long bits) { return (getauxval(AT_HWCAP) & bits) == bits; }

// What compilers take for granted from version 8.2 of the architecture on.
bool supports_v8_2() { return has(HWCAP_ATOMICS | HWCAP_ASIMDRDM | HWCAP_CRC32); }

bool supports_dotprod() { return supports_v8_2() && has(HWCAP_ASIMDDP | HWCAP_FPHP | HWCAP_ASIMDHP); }

bool supports_sve() { return supports_v8_2() && has(HWCAP_SVE | HWCAP_FPHP | HWCAP_ASIMDHP); }

bool supports_bf16() { return supports_dotprod() && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; }

std::vector<CpuLevel> known_levels() {
  return {COHORT_LEVEL(dotprod, supports_dotprod), COHORT_LEVEL(sve, supports_sve), COHORT_LEVEL(bf16, supports_bf16)};
}

#else
std::vector<CpuLevel> known_levels() { return {}; }
#endif

#undef COHORT_LEVEL
#undef COHORT_LEVEL_SECTION

thread_local int initialized_level = 0;

struct InitializedLevel {
  explicit InitializedLevel(int level) { initialized_level = level; }
  ~InitializedLevel() { initialized_level = 0; }
};

class CpuLevels {
 public:
  CpuLevels() {
    add({"baseline", [] { return true; }, {}});
    for (const CpuLevel& level : known_levels()) {
      if (!level.initializers.empty()) add(level);
    }
  }

  void add(const CpuLevel& level) {
    std::lock_guard lock(mutex_);
    if (levels_.size() == kMaxCpuLevels) throw internal_error("CpuLevels", "there are more levels than kMaxCpuLevels");
    levels_.push_back({level, {}, false});
  }

  int taken() {
    const int taken = taken_.load(std::memory_order_acquire);
    if (taken >= 0) return taken;
    std::lock_guard lock(mutex_);
    if (taken_ < 0) {
      const char* given = std::getenv("COHORT_CPU");
      const int chosen = given && *given ? find(given) : best();
      initialize_up_to(chosen);
      taken_.store(chosen, std::memory_order_release);
      if (log::enabled(log::Level::Debug)) {
        log::debug("kernels are those of the CPU's level " + std::string(levels_[index(chosen)].kernels.name) +
                   "; this machine has " + join(available()) +
                   "; threads: " + std::to_string(ThreadPool::instance().threads()));
      }
    }
    return taken_;
  }

  int take(std::string_view name) {
    const int before = taken();
    std::lock_guard lock(mutex_);
    const int chosen = find(name);
    initialize_up_to(chosen);
    taken_.store(chosen, std::memory_order_release);
    return before;
  }
  void take(int level) { taken_.store(level, std::memory_order_release); }

  std::string_view name(int level) {
    std::lock_guard lock(mutex_);
    return levels_[index(level)].kernels.name;
  }
  std::vector<std::string_view> names() {
    std::lock_guard lock(mutex_);
    return available();
  }

 private:
  struct Level {
    CpuLevel kernels;
    std::optional<bool> supported;  // once somebody wanted to know
    bool initialized;
  };

  static std::size_t index(int level) { return static_cast<std::size_t>(level); }

  bool supported(Level& level) {
    if (!level.supported) level.supported = level.kernels.supported();
    return *level.supported;
  }
  int best() {
    int level = static_cast<int>(levels_.size()) - 1;
    while (!supported(levels_[index(level)])) --level;
    return level;
  }
  int find(std::string_view name) {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i].kernels.name == name && supported(levels_[i])) return static_cast<int>(i);
    }
    throw invalid_argument("COHORT_CPU",
                           "must be a level that this library and this machine have: " + join(available()),
                           {{"COHORT_CPU", name}}, "Leave it unset for the last of them.");
  }
  std::vector<std::string_view> available() {
    std::vector<std::string_view> names;
    for (Level& level : levels_) {
      if (supported(level)) names.push_back(level.kernels.name);
    }
    return names;
  }

  void initialize_up_to(int last) {
    for (int i = 1; i <= last; ++i) {
      Level& level = levels_[index(i)];
      if (level.initialized || !supported(level)) continue;
      level.initialized = true;
      const InitializedLevel scope(i);
      for (StaticInitializer initialize : level.kernels.initializers) initialize(0, nullptr, nullptr);
    }
  }

  std::mutex mutex_;
  std::vector<Level> levels_;
  std::atomic<int> taken_ = -1;
};

CpuLevels& cpu_levels() {
  static CpuLevels* levels = new CpuLevels;
  return *levels;
}

}  // namespace

std::string_view cpu_level() { return cpu_levels().name(taken_cpu_level()); }
std::vector<std::string_view> available_cpu_levels() { return cpu_levels().names(); }

int taken_cpu_level() { return cpu_levels().taken(); }
int initialized_cpu_level() { return initialized_level; }

void add_cpu_level(const CpuLevel& level) { cpu_levels().add(level); }

CpuLevelScope::CpuLevelScope(std::string_view name) : outer_(cpu_levels().take(name)) {}
CpuLevelScope::~CpuLevelScope() { cpu_levels().take(outer_); }

}  // namespace cohort
