#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/trial_numbers.h"

namespace cohort::kernels::cuda {
namespace {

// Of a word: the bits of its numbers that may be anything, signs and fractions, and those of their exponents.
struct TrialBits {
  std::uint64_t free, fixed;
};

TrialBits bits_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return {0x83ff83ff83ff83ff, 0x3800380038003800};
    case DType::BFloat16:
      return {0x807f807f807f807f, 0x3f003f003f003f00};
    case DType::Float64:
      return {0x800fffffffffffff, 0x3fe0000000000000};
    default:
      return {0x807fffff807fffff, 0x3f0000003f000000};
  }
}

}  // namespace

void enqueue_trial_numbers(DType dtype, void* memory, std::size_t bytes, const cohort::cuda::CudaDevice& device,
                           cudaStream_t stream) {
  auto* words = static_cast<std::uint64_t*>(memory);
  const TrialBits bits = bits_of(dtype);
  launch_each(static_cast<std::int64_t>(bytes / sizeof(std::uint64_t)), device, stream, [=] __device__(std::int64_t i) {
    // As in SplitMix64.
    std::uint64_t mixed = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    words[i] = ((mixed ^ (mixed >> 31)) & bits.free) | bits.fixed;
  });
}

}  // namespace cohort::kernels::cuda
