#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

constexpr std::int64_t kBytesOfTask = 4096;  // of a mask

// The kernel of another op for the first inputs and the first output.
KernelFn make_product_alone(const char* op, const KernelSpec& spec, int inputs, Attributes attributes) {
  Specs specs;
  for (int i = 0; i < inputs; ++i) specs.push_back(spec.input(i));
  for (const char* transposed : {"transpose_a", "transpose_b"}) {
    attributes.set(transposed, AttributeValue(spec.attr<bool>(transposed)));
  }
  const OpCall call(find_op(op), attributes, specs);
  return make_kernel(KernelSpec(call, spec.outputs().first(1), spec.device(), spec.node()));
}

KernelFn make_masked_matmul(const KernelSpec& spec) {
  const KernelFn product = make_product_alone("FusedMatMul", spec, spec.num_inputs(), {{"activation", "Relu"}});
  return visit_number(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    return [product, bytes = spec.output_size(1)](const KernelIO& io) {
      product(io);
      parallel_for(bytes, kBytesOfTask, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          unsigned int bits = 0;
          for (int k = 0; k < 8; ++k) bits |= (io.out<T>(0)[8 * i + k] > T(0) ? 1u : 0u) << k;
          io.out<std::uint8_t>(1)[i] = static_cast<std::uint8_t>(bits);
        }
      });
    };
  });
}

KernelFn make_matmul_relu_grad(const KernelSpec& spec) {
  const KernelFn product = make_product_alone("MatMul", spec, 2, {});
  return visit_number(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    return [product, bytes = spec.input_size(2)](const KernelIO& io) {
      product(io);
      parallel_for(bytes, kBytesOfTask, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const unsigned int bits = io.in<std::uint8_t>(2)[i];
          for (int k = 0; k < 8; ++k) {
            if ((bits >> k & 1u) == 0) io.out<T>(0)[8 * i + k] = T(0);
          }
        }
      });
    };
  });
}

COHORT_KERNEL("MaskedMatMul", kCPU, make_masked_matmul);
COHORT_KERNEL("MatMulReluGrad", kCPU, make_matmul_relu_grad);

}  // namespace
}  // namespace cohort
