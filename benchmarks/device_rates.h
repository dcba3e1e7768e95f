#pragma once

#include <cstdint>

#include "benchmarks/roofline.h"

namespace cohort::bench {

// What the default device does when it is asked again and again without being waited for, each in a JSON line.

// Prints the rate of one matrix product. Only its size and type are looked at.
void print_device_product(const ProductOptions& options);

struct AttentionSize {
  std::int64_t batch = 16, steps = 1024, heads = 12, size = 64;  // gpt2's
};
// Prints the time of causal attention there, and there and back, and the rate of the latter. As is usual its products
// count for half, and the way back two and a half times the way there.
void print_attention(const AttentionSize& size, bool bfloat16);

}  // namespace cohort::bench
