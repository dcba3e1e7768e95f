#include "cohort/core/thread_pool.h"
#include "cohort/kernels/broadcast_plan.h"
#include "cohort/kernels/cpu/elementwise_loops.h"

namespace cohort::kernels {

UnaryLoop find_unary_function(std::string_view op, DType dtype);
UnaryLoop find_unary_test(std::string_view op, DType dtype);
BinaryLoops find_binary_function(std::string_view op, DType dtype);
BinaryLoops find_binary_test(std::string_view op, DType dtype);

UnaryLoop find_unary_loop(std::string_view op, DType dtype) {
  const UnaryLoop loop = find_unary_function(op, dtype);
  return loop ? loop : find_unary_test(op, dtype);
}

BinaryLoops find_binary_loops(std::string_view op, DType dtype) {
  const BinaryLoops loops = find_binary_function(op, dtype);
  return loops.both ? loops : find_binary_test(op, dtype);
}

KernelFn unary_kernel(const KernelSpec& spec, UnaryLoop loop) {
  if (!loop) return {};
  const std::int64_t count = spec.output_size(0);
  const std::int64_t x_bytes = static_cast<std::int64_t>(size_of(spec.input(0).dtype));
  const std::int64_t y_bytes = static_cast<std::int64_t>(size_of(spec.output(0).dtype));
  return [=](const KernelIO& io) {
    parallel_for(count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      loop(io.in<char>(0) + begin * x_bytes, io.out<char>(0) + begin * y_bytes, end - begin);
    });
  };
}

KernelFn binary_kernel(const KernelSpec& spec, const BinaryLoops& loops) {
  if (!loops.both) return {};
  const BroadcastPlan plan(spec.output(0).shape, {&spec.input(0).shape, &spec.input(1).shape});
  const BinaryLoop loop = loops.pick(plan.moves(0), plan.moves(1));
  const std::int64_t x_bytes = static_cast<std::int64_t>(size_of(spec.input(0).dtype));
  const std::int64_t y_bytes = static_cast<std::int64_t>(size_of(spec.output(0).dtype));
  if (plan.rank == 1) {
    const std::int64_t a_bytes = plan.moves(0) ? x_bytes : 0, b_bytes = plan.moves(1) ? x_bytes : 0;
    return [=, count = plan.total](const KernelIO& io) {
      parallel_for(count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
        loop(io.in<char>(0) + begin * a_bytes, io.in<char>(1) + begin * b_bytes, io.out<char>(0) + begin * y_bytes, 1,
             end - begin, 0, 0);
      });
    };
  }
  return [=](const KernelIO& io) {
    parallel_for(plan.total, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      plan.walk(begin, end,
                [&](std::int64_t position, std::int64_t rows, std::int64_t columns,
                    const BroadcastPlan::Offsets& offsets, const BroadcastPlan::Offsets& steps) {
                  loop(io.in<char>(0) + offsets[0] * x_bytes, io.in<char>(1) + offsets[1] * x_bytes,
                       io.out<char>(0) + position * y_bytes, rows, columns, steps[0], steps[1]);
                });
    });
  };
}

}  // namespace cohort::kernels
