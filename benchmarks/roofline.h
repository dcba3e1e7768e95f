#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace cohort::bench {

// Prints a JSON line with the rate of each loop that stays in registers (multiply-adds of float32, and tiles of
// bfloat16 where the level of the CPU has them), on one thread and on all threads of the pool.
void print_roofline();

struct ProductOptions {
  std::array<std::int64_t, 3> size{};  // m, k, n
  bool bfloat16 = false;
  bool packed = false;      // the right operand, before time is taken
  bool transposed = false;  // the left operand lies so, as for gradients of weights
};
// "1024,1024,1024"; throws InvalidArgument for anything but three positive numbers.
std::array<std::int64_t, 3> parse_product(const std::string& text);
// Prints a JSON line with the rate of one matrix product of the library, and of the loop it is to be compared with.
void print_product(const ProductOptions& options);

}  // namespace cohort::bench
