#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace cohort::distribute::collective {

// What a call of a communicator does.
enum class CallKind : std::uint16_t { AllReduce = 1, AllGather, ReduceScatter, Broadcast, Barrier };
const char* to_string(CallKind kind);

// Which call a chunk belongs to. The calls of a communicator are counted, so all ranks have the same label in the same
// call, or they do not run the same program.
struct CallLabel {
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  CallKind kind = CallKind::Barrier;
  std::uint16_t dtype = 0;
  std::uint32_t root = 0;
  friend bool operator==(const CallLabel&, const CallLabel&) = default;
  // "all_reduce of 4096 bytes of float32, call 17"
  std::string to_string() const;
};
static_assert(std::is_trivially_copyable_v<CallLabel> && sizeof(CallLabel) == 24);

}  // namespace cohort::distribute::collective
