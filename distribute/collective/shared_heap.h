#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cohort/core/large_blocks.h"
#include "cohort/distribute/rpc/shared_memory.h"

namespace cohort::distribute::collective {

// Memory of this process that others of the host may read where it lies: the CPU's large blocks, those that graphs
// compute in among them, come from it from when it was first asked for. Thread-safe.
class SharedHeap : public LargeBlocks {
 public:
  // That of this process; nullptr where the system does not give one.
  static SharedHeap* of_process();

  // What a PeerHeap finds it by.
  std::string name() const { return memory_->name(); }
  // Where so many bytes from here on lie in it; nothing where they do not.
  std::optional<std::uint64_t> place_of(const void* memory, std::size_t bytes) const;

  void* take(std::size_t bytes) noexcept override;
  bool give_back(void* memory, std::size_t bytes) noexcept override;

 private:
  explicit SharedHeap(std::unique_ptr<rpc::SharedMemory> memory);
  static SharedHeap* make();

  const std::unique_ptr<rpc::SharedMemory> memory_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> free_;  // bytes by place
};

// That of another process, as this one reads it.
class PeerHeap {
 public:
  // nullptr where there is none of that name on this host.
  static std::unique_ptr<PeerHeap> open(const std::string& name);
  // So many bytes at a place; nullptr where they do not lie in it.
  const std::byte* at(std::uint64_t place, std::size_t bytes) const;

 private:
  explicit PeerHeap(std::unique_ptr<rpc::SharedMemory> memory) : memory_(std::move(memory)) {}

  const std::unique_ptr<rpc::SharedMemory> memory_;
};

}  // namespace cohort::distribute::collective
