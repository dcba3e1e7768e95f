#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace cohort {

// The level of the processor's instruction set that kernels are taken from: "baseline", which every processor of the
// architecture has, "avx2", ... It is the best of available_cpu_levels(), or the one that the environment variable
// COHORT_CPU names. Chosen when it is first asked for; throws InvalidArgument when there is no level of that name.
// Thread-safe.
std::string_view cpu_level();
// The levels that kernels were compiled for and that this machine can run, lowest first.
std::vector<std::string_view> available_cpu_levels();

// What the compiler makes of objects with constructors at namespace scope; the arguments are those of main.
using StaticInitializer = void (*)(int, char**, char**);

// Kernels that were compiled for a level above the baseline.
struct CpuLevel {
  std::string_view name;
  bool (*supported)();
  // Of the level's sources. They consist of its instructions, so nobody runs them before the level is known to be
  // there.
  std::span<const StaticInitializer> initializers;
};

// For the registry of kernels: the number of the level to ask first, the baseline's being 0, and the number of the one
// whose static initializers run on this thread right now.
inline constexpr int kMaxCpuLevels = 8;
int taken_cpu_level();
int initialized_cpu_level();

// For tests: one more level above all others.
void add_cpu_level(const CpuLevel& level);
// For tests: while it stands, kernels are made for this level, on all threads.
class CpuLevelScope {
 public:
  explicit CpuLevelScope(std::string_view name);
  ~CpuLevelScope();
  CpuLevelScope(const CpuLevelScope&) = delete;

 private:
  int outer_;
};

}  // namespace cohort
