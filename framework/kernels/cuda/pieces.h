#pragma once

#include <cstddef>

namespace cohort::kernels::cuda {

// Memory in pieces that are aligned for everything.
class Pieces {
 public:
  // Where the next piece begins.
  std::size_t add(std::size_t bytes) {
    const std::size_t begin = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::size_t bytes_ = 0;
};

}  // namespace cohort::kernels::cuda
