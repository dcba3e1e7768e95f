#include <string>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/conv_depthwise.h"
#include "cohort/kernels/cpu/conv_panels.h"
#include "cohort/kernels/cpu/conv_patches.h"
#include "cohort/kernels/cpu/conv_widened.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

// Calls make(Way{}) with the way to compute a convolution of this type that suits its shape.
template <class T, class Make>
KernelFn with_way(const ConvPlan& plan, const Make& make) {
  if (plan.depthwise()) return make(DepthwiseConv<T>{});
  if constexpr (std::is_same_v<T, float>) {
    return make(PanelConv{});
  } else if constexpr (sizeof(T) == 2) {
    return make(WidenedConv<T>{});
  } else {
    return make(PatchConv<T>{});
  }
}

template <class T>
KernelFn forward_kernel(const KernelSpec& spec, const Epilogue<T>& finish) {
  ConvPlan plan(spec, spec.input(0).shape, spec.input(1).shape);
  return with_way<T>(plan, [&]<class Way>(Way) -> KernelFn {
    return [plan = std::move(plan), finish](const KernelIO& io) {
      const T* bias = finish.has_bias() ? io.in<T>(2) : nullptr;
      Way::forward(plan, io.in<T>(0), io.in<T>(1), bias, finish, io.out<T>(0));
    };
  });
}

KernelFn make_conv(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) { return forward_kernel<T>(spec, {}); });
}

KernelFn make_fused_conv(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) {
    return forward_kernel<T>(spec, {spec.attr<std::string>("activation"), true});
  });
}

// (dy, kernel, like), and (x, kernel) of a transposed convolution: the image is what comes out.
KernelFn make_conv_grad_input(const KernelSpec& spec) {
  ConvPlan plan(spec, spec.output(0).shape, spec.input(1).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) {
    return with_way<T>(plan, [&]<class Way>(Way) -> KernelFn {
      return [plan = std::move(plan)](const KernelIO& io) {
        Way::input_gradient(plan, io.in<T>(0), io.in<T>(1), io.out<T>(0));
      };
    });
  });
}

// (x, dy, like)
KernelFn make_conv_grad_kernel(const KernelSpec& spec) {
  ConvPlan plan(spec, spec.input(0).shape, spec.output(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) {
    return with_way<T>(plan, [&]<class Way>(Way) -> KernelFn {
      return [plan = std::move(plan)](const KernelIO& io) {
        Way::kernel_gradient(plan, io.in<T>(0), io.in<T>(1), io.out<T>(0));
      };
    });
  });
}

COHORT_KERNEL("Conv", kCPU, make_conv);
COHORT_KERNEL("FusedConv", kCPU, make_fused_conv);
COHORT_KERNEL("ConvGradInput", kCPU, make_conv_grad_input);
COHORT_KERNEL("ConvTranspose", kCPU, make_conv_grad_input);
COHORT_KERNEL("ConvGradKernel", kCPU, make_conv_grad_kernel);

}  // namespace
}  // namespace cohort
