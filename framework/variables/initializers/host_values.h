#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/core/random.h"
#include "cohort/core/tensor.h"

namespace cohort::initializers {

// A tensor of `dtype` on the default device from floats on the host.
Tensor from_floats(const std::vector<float>& values, const Shape& shape, DType dtype);

// Random numbers one after the other, decided by a seed alone; without a seed by the process's next one.
class NumberStream {
 public:
  explicit NumberStream(std::optional<std::int64_t> seed);
  float uniform();           // [0, 1)
  float normal();            // standard
  float truncated_normal();  // standard, drawn again when more than two deviations out

 private:
  std::uint32_t word();
  PhiloxStream stream_;
  std::array<std::uint32_t, 4> block_{};
  std::uint64_t drawn_ = 0;
  std::optional<float> second_normal_;
};

std::vector<float> random_values(const Shape& shape, std::optional<std::int64_t> seed, float (NumberStream::*draw)(),
                                 double scale, double shift);

}  // namespace cohort::initializers
