#include "cohort/kernels/cpu/conv_widened.h"

#include <algorithm>

#include "cohort/core/dtype.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/conv_panels.h"

namespace cohort {
namespace {

constexpr std::int64_t kWideElements = std::int64_t(1) << 24;  // of images that are widened at once, 64 MiB
constexpr std::int64_t kTaskElements = std::int64_t(1) << 15;

Scratch wide_inputs, wide_outputs, wide_kernel, wide_sums;

template <class From, class To>
void convert(const From* from, std::int64_t count, To* to) {
  parallel_for(count, kTaskElements, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(from[i]);
  });
}

template <class T>
const float* widen(const T* from, std::int64_t count, Scratch& memory) {
  float* to = memory.get<float>(count);
  convert(from, count, to);
  return to;
}

// Calls body(plan of some images, the first of them) until all have had their turn.
template <class Body>
void for_images(const ConvPlan& plan, const Body& body) {
  const std::int64_t image = plan.inputs() * plan.channels + plan.outputs() * plan.filters;
  const std::int64_t together = std::max<std::int64_t>(1, kWideElements / std::max<std::int64_t>(1, image));
  for (std::int64_t first = 0; first < plan.batch; first += together) {
    ConvPlan some = plan;
    some.batch = std::min(together, plan.batch - first);
    body(some, first);
  }
}

}  // namespace

template <class T>
void WidenedConv<T>::forward(const ConvPlan& plan, const T* x, const T* kernel, const T* bias,
                             const Epilogue<T>& finish, T* y) {
  const std::int64_t filters = plan.filters, rows = kTaskElements / std::max<std::int64_t>(1, filters) + 1;
  const float* weights = widen(kernel, plan.patch() * filters, wide_kernel);
  for_images(plan, [&](const ConvPlan& some, std::int64_t first) {
    const std::int64_t inputs = plan.inputs() * plan.channels;
    float* sums = wide_outputs.get<float>(some.pixels() * filters);
    PanelConv::forward(some, widen(x + first * inputs, some.batch * inputs, wide_inputs), weights, nullptr, {}, sums);
    T* to = y + first * plan.outputs() * filters;
    parallel_for(some.pixels(), rows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * filters; i < end * filters; ++i) to[i] = T(sums[i]);
      for (std::int64_t row = begin; finish && row < end; ++row) finish(to + row * filters, bias, filters);
    });
  });
}

template <class T>
void WidenedConv<T>::input_gradient(const ConvPlan& plan, const T* dy, const T* kernel, T* dx) {
  const std::int64_t inputs = plan.inputs() * plan.channels, outputs = plan.outputs() * plan.filters;
  const float* weights = widen(kernel, plan.patch() * plan.filters, wide_kernel);
  for_images(plan, [&](const ConvPlan& some, std::int64_t first) {
    float* sums = wide_inputs.get<float>(some.batch * inputs);
    PanelConv::input_gradient(some, widen(dy + first * outputs, some.batch * outputs, wide_outputs), weights, sums);
    convert(sums, some.batch * inputs, dx + first * inputs);
  });
}

template <class T>
void WidenedConv<T>::kernel_gradient(const ConvPlan& plan, const T* x, const T* dy, T* dkernel) {
  const std::int64_t inputs = plan.inputs() * plan.channels, outputs = plan.outputs() * plan.filters;
  const std::int64_t size = plan.patch() * plan.filters;
  float* sums = wide_kernel.get<float>(size);
  std::fill_n(sums, size, 0.0f);
  for_images(plan, [&](const ConvPlan& some, std::int64_t first) {
    float* part = wide_sums.get<float>(size);
    PanelConv::kernel_gradient(some, widen(x + first * inputs, some.batch * inputs, wide_inputs),
                               widen(dy + first * outputs, some.batch * outputs, wide_outputs), part);
    for (std::int64_t i = 0; i < size; ++i) sums[i] += part[i];
  });
  convert(sums, size, dkernel);
}

template struct WidenedConv<Half>;
template struct WidenedConv<BFloat16>;

}  // namespace cohort
