#include "cohort/kernels/cuda/copy_words.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kCondition = 0, kIfTrue = 1, kIfFalse = 2;

template <class Index>
using SelectIndex = StridedIndex<Index, 3, Shape::kMaxRank>;

// The places of elements in the operands, or of packs of `count` elements of a row.
template <class Index>
SelectIndex<Index> select_index_of(const BroadcastPlan& plan, std::int64_t count) {
  SelectIndex<Index> index{};
  index.rank = plan.rank;
  for (int i = 0; i < plan.rank; ++i) {
    const auto axis = static_cast<std::size_t>(plan.rank - 1 - i);
    const std::int64_t elements = i == 0 ? count : 1;
    index.sizes[i] = Divider<Index>(std::max<std::int64_t>(1, plan.sizes[axis] / elements));
    for (std::size_t operand = 0; operand < 3; ++operand) {
      index.strides[i][operand] = static_cast<Index>(plan.strides[operand][axis] * elements);
    }
  }
  return index;
}

// Whether packs of `count` elements lie together in every operand that moves along the rows.
bool fits_packs(const BroadcastPlan& plan, std::int64_t count) {
  if (plan.rank == 1) return true;
  CommonPower common(count);
  common.divides(plan.columns());
  for (int operand = 0; operand < 3; ++operand) {
    if (!plan.moves(operand)) continue;
    for (int axis = 0; axis < plan.rank - 1; ++axis) {
      common.divides(plan.strides[static_cast<std::size_t>(operand)][static_cast<std::size_t>(axis)]);
    }
  }
  return common.power() == count;
}

template <class T, int kCount>
__device__ Pack<T, kCount> load_pack(const T* memory, bool moves) {
  if (moves) return *reinterpret_cast<const Pack<T, kCount>*>(memory);
  Pack<T, kCount> pack;
#pragma unroll
  for (int k = 0; k < kCount; ++k) pack.values[k] = *memory;
  return pack;
}

template <class Word, class Index>
KernelFn make_select_of(const BroadcastPlan& plan, const cohort::cuda::CudaDevice* device) {
  constexpr int kCount = kAccessBytes / static_cast<int>(sizeof(Word));
  const SelectIndex<Index> elements = select_index_of<Index>(plan, 1), packs = select_index_of<Index>(plan, kCount);
  const std::int64_t total = plan.total, all_packs = fits_packs(plan, kCount) ? total / kCount : 0;
  const bool condition_moves = plan.moves(kCondition), a_moves = plan.moves(kIfTrue), b_moves = plan.moves(kIfFalse);
  return [=](const KernelIO& io) {
    const auto* condition = io.in<std::uint8_t>(kCondition);
    const auto* a = io.in<Word>(kIfTrue);
    const auto* b = io.in<Word>(kIfFalse);
    auto* y = io.out<Word>(0);
    const bool aligned = (!condition_moves || is_aligned_to(condition, kCount)) && (!a_moves || is_aligned(a)) &&
                         (!b_moves || is_aligned(b)) && is_aligned(y);
    const std::int64_t packed = aligned ? all_packs : 0, first = packed * kCount;
    launch_each(packed + total - first, *device, stream_of(io), [=] __device__(std::int64_t i) {
      Index at[3];
      if (i >= packed) {
        const std::int64_t position = first + i - packed;
        elements.find(static_cast<Index>(position), at);
        y[position] = condition[at[kCondition]] ? a[at[kIfTrue]] : b[at[kIfFalse]];
        return;
      }
      packs.find(static_cast<Index>(i), at);
      const auto choice = load_pack<std::uint8_t, kCount>(condition + at[kCondition], condition_moves);
      const auto if_true = load_pack<Word, kCount>(a + at[kIfTrue], a_moves);
      const auto if_false = load_pack<Word, kCount>(b + at[kIfFalse], b_moves);
      Pack<Word, kCount> out;
#pragma unroll
      for (int k = 0; k < kCount; ++k) out.values[k] = choice.values[k] ? if_true.values[k] : if_false.values[k];
      reinterpret_cast<Pack<Word, kCount>*>(y)[i] = out;
    });
  };
}

KernelFn make_select(const KernelSpec& spec) {
  const BroadcastPlan plan(spec.output(0).shape, {&spec.input(0).shape, &spec.input(1).shape, &spec.input(2).shape});
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_bytes(size_of(spec.output(0).dtype), [&](auto word_type) {
    using Word = typename decltype(word_type)::type;
    return visit_index_width(plan.total <= kLargestNarrow, [&](auto index_type) -> KernelFn {
      return make_select_of<Word, typename decltype(index_type)::type>(plan, device);
    });
  });
}

COHORT_KERNEL("Select", kGPU, make_select);

}  // namespace
}  // namespace cohort::kernels::cuda
