#include "cohort/core/large_blocks.h"

#include <atomic>

namespace cohort {
namespace {

std::atomic<LargeBlocks*> source_of_process{nullptr};

}  // namespace

LargeBlocks* LargeBlocks::source() { return source_of_process.load(std::memory_order_acquire); }
void LargeBlocks::set_source(LargeBlocks& blocks) { source_of_process.store(&blocks, std::memory_order_release); }

}  // namespace cohort
