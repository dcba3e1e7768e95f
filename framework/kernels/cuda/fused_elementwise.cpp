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

constexpr std::int64_t kThreads = FusedSource::kThreads;
// Of the kernel's argument: what every driver takes.
constexpr std::size_t kMostWords = 512;

class FusedLaunch {
 public:
  FusedLaunch(const KernelSpec& spec)
      : source_(spec),
        arguments_(static_cast<std::size_t>(spec.num_inputs() + spec.num_outputs())),
        inputs_(static_cast<std::size_t>(spec.num_inputs())) {
    if (arguments_ + 2 + source_.sizes().size() > kMostWords) {
      throw unimplemented("FusedElementwise", "fewer inputs and outputs are expected", {{"arguments", arguments_}});
    }
    const cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
    kernel_ = cohort::cuda::loaded_kernel(source_.text(), "fused", device);
    // As many as run at the same time, each with its share of the work.
    int resident = 0;
    cohort::cuda::check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel_, static_cast<int>(kThreads), 0));
    most_blocks_ = std::max<std::int64_t>(1, device.multiprocessors() * resident);
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
    const std::int64_t packs = aligned && source_.per_access() > 1 ? source_.total() / source_.per_access() : 0;
    const std::int64_t items = source_.total() - packs * (source_.per_access() - 1);
    words[arguments_] = static_cast<std::uint64_t>(packs);
    words[arguments_ + 1] = static_cast<std::uint64_t>(source_.total());
    std::copy(source_.sizes().begin(), source_.sizes().end(),
              words.begin() + static_cast<std::ptrdiff_t>(arguments_ + 2));
    const auto blocks = static_cast<unsigned int>(blocks_for(items));
    void* argument = words.data();
    cohort::cuda::check(
        cudaLaunchKernel(kernel_, dim3(blocks), dim3(kThreads), &argument, 0, static_cast<cudaStream_t>(io.stream)));
  }

 private:
  std::int64_t blocks_for(std::int64_t items) const {
    const std::int64_t multiple = source_.blocks_multiple();
    const std::int64_t wanted = (items + kThreads * multiple - 1) / (kThreads * multiple);
    return std::min(wanted, std::max<std::int64_t>(1, most_blocks_ / multiple)) * multiple;
  }

  FusedSource source_;
  std::size_t arguments_, inputs_;
  std::int64_t most_blocks_ = 0;
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
