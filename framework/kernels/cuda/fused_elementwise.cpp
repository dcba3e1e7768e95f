#include <algorithm>
#include <array>
#include <memory>

#include "cohort/core/error.h"
#include "cohort/cuda/check.h"
#include "cohort/cuda/cuda_device.h"
#include "cohort/cuda/loaded_kernel.h"
#include "cohort/kernels/cuda/fused_source.h"

namespace cohort::kernels::cuda {
namespace {

// Threads of a block, as the program says, and blocks that fill a multiprocessor.
constexpr std::int64_t kThreads = 256, kBlocksOfAMultiprocessor = 8;
// Of the kernel's argument: what every driver takes.
constexpr std::size_t kMostWords = 512;

class FusedLaunch {
 public:
  FusedLaunch(const KernelSpec& spec)
      : source_(spec),
        arguments_(static_cast<std::size_t>(spec.num_inputs() + spec.num_outputs())),
        inputs_(static_cast<std::size_t>(spec.num_inputs())),
        most_blocks_(cohort::cuda::device_of(spec).multiprocessors() * kBlocksOfAMultiprocessor) {
    if (arguments_ + 2 + source_.sizes().size() > kMostWords) {
      throw unimplemented("FusedElementwise", "fewer inputs and outputs are expected", {{"arguments", arguments_}});
    }
    kernel_ = cohort::cuda::loaded_kernel(source_.text(), "fused", cohort::cuda::device_of(spec));
  }

  void operator()(const KernelIO& io) const {
    std::array<std::uint64_t, kMostWords> words;
    for (std::size_t i = 0; i < arguments_; ++i) {
      words[i] = reinterpret_cast<std::uintptr_t>(i < inputs_ ? io.inputs[i] : io.outputs[i - inputs_]);
    }
    const bool aligned = std::all_of(
        source_.packed_accesses().begin(), source_.packed_accesses().end(),
        [&](const FusedSource::PackedAccess& access) {
          return words[static_cast<std::size_t>(access.argument)] % static_cast<std::uint64_t>(access.alignment) == 0;
        });
    const std::int64_t packs = aligned ? source_.total() / source_.per_access() : 0;
    const std::int64_t items = source_.total() - packs * (source_.per_access() - 1);
    words[arguments_] = static_cast<std::uint64_t>(packs);
    words[arguments_ + 1] = static_cast<std::uint64_t>(items);
    std::copy(source_.sizes().begin(), source_.sizes().end(),
              words.begin() + static_cast<std::ptrdiff_t>(arguments_ + 2));
    const auto blocks = static_cast<unsigned int>(std::min((items + kThreads - 1) / kThreads, most_blocks_));
    void* argument = words.data();
    cohort::cuda::check(
        cudaLaunchKernel(kernel_, dim3(blocks), dim3(kThreads), &argument, 0, static_cast<cudaStream_t>(io.stream)));
  }

 private:
  FusedSource source_;
  std::size_t arguments_, inputs_;
  std::int64_t most_blocks_;
  cohort::cuda::LoadedKernel kernel_;
};

KernelFn make_fused_elementwise(const KernelSpec& spec) {
  if (spec.output_size(0) == 0) return [](const KernelIO&) {};
  auto launch = std::make_shared<const FusedLaunch>(spec);
  return [launch](const KernelIO& io) { (*launch)(io); };
}

}  // namespace

COHORT_KERNEL("FusedElementwise", kGPU, make_fused_elementwise);

}  // namespace cohort::kernels::cuda
