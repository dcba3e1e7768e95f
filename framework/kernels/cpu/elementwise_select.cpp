#include "cohort/core/thread_pool.h"
#include "cohort/kernels/broadcast_plan.h"
#include "cohort/kernels/cpu/elementwise_templates.h"

namespace cohort::kernels {
namespace {

template <class T, bool kConditionMoves, bool kAMoves, bool kBMoves>
void select_loop(const bool* condition_memory, const void* a_memory, const void* b_memory, void* y_memory,
                 std::int64_t rows, std::int64_t columns, std::int64_t condition_step, std::int64_t a_step,
                 std::int64_t b_step) {
  // As bytes of 0 or 1: bools, like branches, are not vectorised.
  const std::uint8_t* condition = reinterpret_cast<const std::uint8_t*>(condition_memory);
  const T* a = static_cast<const T*>(a_memory);
  const T* b = static_cast<const T*>(b_memory);
  T* y = static_cast<T*>(y_memory);
  for (std::int64_t row = 0; row < rows; ++row, condition += condition_step, a += a_step, b += b_step, y += columns) {
    const std::uint8_t fixed_condition = *condition;
    const T fixed_a = *a, fixed_b = *b;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) {
      const T if_true = kAMoves ? a[i] : fixed_a, if_false = kBMoves ? b[i] : fixed_b;
      const T mask = static_cast<T>(T{0} - static_cast<T>(kConditionMoves ? condition[i] : fixed_condition));
      y[i] = static_cast<T>((if_true & mask) | (if_false & static_cast<T>(~mask)));
    }
  }
}

template <class T>
SelectLoop select_loop_for(bool condition_moves, bool a_moves, bool b_moves) {
  static constexpr SelectLoop kLoops[] = {select_loop<T, false, false, false>, select_loop<T, false, false, true>,
                                          select_loop<T, false, true, false>,  select_loop<T, false, true, true>,
                                          select_loop<T, true, false, false>,  select_loop<T, true, false, true>,
                                          select_loop<T, true, true, false>,   select_loop<T, true, true, true>};
  return kLoops[condition_moves * 4 + a_moves * 2 + b_moves];
}

KernelFn make_select(const KernelSpec& spec) {
  const BroadcastPlan plan(spec.output(0).shape, {&spec.input(0).shape, &spec.input(1).shape, &spec.input(2).shape});
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(spec.output(0).dtype));
  const SelectLoop loop =
      find_select_loop(static_cast<std::size_t>(bytes), plan.moves(0), plan.moves(1), plan.moves(2));
  return [=](const KernelIO& io) {
    parallel_for(plan.total, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      plan.walk(begin, end,
                [&](std::int64_t position, std::int64_t rows, std::int64_t columns,
                    const BroadcastPlan::Offsets& offsets, const BroadcastPlan::Offsets& steps) {
                  loop(io.in<bool>(0) + offsets[0], io.in<char>(1) + offsets[1] * bytes,
                       io.in<char>(2) + offsets[2] * bytes, io.out<char>(0) + position * bytes, rows, columns, steps[0],
                       steps[1], steps[2]);
                });
    });
  };
}

}  // namespace

SelectLoop find_select_loop(std::size_t element_bytes, bool condition_moves, bool a_moves, bool b_moves) {
  switch (element_bytes) {
    case 1:
      return select_loop_for<std::uint8_t>(condition_moves, a_moves, b_moves);
    case 2:
      return select_loop_for<std::uint16_t>(condition_moves, a_moves, b_moves);
    case 4:
      return select_loop_for<std::uint32_t>(condition_moves, a_moves, b_moves);
    default:
      return select_loop_for<std::uint64_t>(condition_moves, a_moves, b_moves);
  }
}

COHORT_KERNEL("Select", kCPU, make_select);

}  // namespace cohort::kernels
