#include "cohort/ops/pooling.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/channels.h"
#include "cohort/ops/pool_windows.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

void check_sizes(const OpCall& call, const char* name, std::size_t axes) {
  const Sizes sizes = call.attr<Sizes>(name);
  bool fits = sizes.size() == axes;
  for (std::int64_t size : sizes) fits = fits && size > 0;
  call.check(fits, "a positive number is expected for each axis between batch and channels",
             {{name, Shape(sizes)}, {"input.shape", call.shape(0)}});
}

// The pooled shape; an axis of unknown size stays unknown unless the pooling is adaptive.
Shape pooled_shape(const OpCall& call) {
  const Shape& x = call.shape(0);
  call.check(x.rank() >= 3 && x.rank() <= 5, "input must have 3 to 5 axes (batch, ..., channels)",
             {{"input.shape", x}});
  call.check(is_floating(call.dtype(0)), "the input must be floating", {{"input.dtype", call.dtype(0)}});
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  const Sizes output_size = call.attr<Sizes>("output_size");
  Shape y = {x[0]};
  if (!output_size.empty()) {
    check_sizes(call, "output_size", axes);
    for (std::int64_t size : output_size) y.push_back(size);
  } else {
    const std::string padding = call.attr<std::string>("padding");
    call.check(padding == "valid" || padding == "same", "padding must be 'valid' or 'same'", {{"padding", padding}});
    check_sizes(call, "pool_size", axes);
    check_sizes(call, "strides", axes);
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t inputs = x[static_cast<int>(i) + 1], window = call.attr<Sizes>("pool_size")[i];
      const std::int64_t size =
          inputs == kUnknown
              ? kUnknown
              : conv_window(inputs, window, call.attr<Sizes>("strides")[i], 1, padding == "same").outputs;
      call.check(size != 0 || inputs == 0, "the window must fit into the input",
                 {{"pool_size", Shape(call.attr<Sizes>("pool_size"))}, {"input.shape", x}, {"padding", padding}});
      y.push_back(size);
    }
  }
  y.push_back(x.back());
  return y;
}

// Which element of its window an output is takes one byte unless windows are large, or grow with the input.
DType index_type(const OpCall& call) {
  std::int64_t taps = 1;
  for (std::int64_t size : call.attr<Sizes>("pool_size")) taps *= size;
  return call.attr<Sizes>("output_size").empty() && taps <= 256 ? DType::UInt8 : DType::Int32;
}

OpDef& pool_op(const char* name) {
  return register_op(name)
      .attr("pool_size", Sizes{})
      .attr("strides", Sizes{})
      .attr("padding", "valid")
      .attr("output_size", Sizes{});
}

Tensor scatter_to_window(const Tensor& dy, const Tensor& index, const Tensor& like, const Attributes& attributes) {
  return run_op("MaxPoolGrad", {dy, index, like}, attributes);
}

// x -> (y, which element of its window each y is); the first of equal ones.
[[maybe_unused]] OpDef& max_pool_op =
    pool_op("MaxPool")
        .inputs(1)
        .infer([](const OpCall& call) -> Specs {
          const Shape y = pooled_shape(call);
          return {{call.dtype(0), y}, {index_type(call), y}};
        })
        .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
          if (!dy[0].defined()) return {{}};
          return {scatter_to_window(dy[0], call.output(1), call.input(0), call.attributes())};
        });

// (dy, index, like) -> dx: both this and its reverse are linear, and each is the other's gradient.
[[maybe_unused]] OpDef& max_pool_grad =
    pool_op("MaxPoolGrad")
        .inputs(3)
        .infer([](const OpCall& call) { return same_as(call.spec(2)); })
        .gradient([](const OpCall& call, const Tensor& dx) -> Tensors {
          return {run_op("MaxPoolSelect", {dx, call.input(1)}, call.attributes()), {}, {}};
        });

// (x, index) -> the element of each window that the index names.
[[maybe_unused]] OpDef& max_pool_select =
    pool_op("MaxPoolSelect")
        .inputs(2)
        .infer([](const OpCall& call) -> Specs {
          return {{call.dtype(0), pooled_shape(call)}};
        })
        .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
          return {scatter_to_window(dy, call.input(1), call.input(0), call.attributes()), {}};
        });

[[maybe_unused]] OpDef& average_pool_op =
    pool_op("AveragePool")
        .inputs(1)
        .infer([](const OpCall& call) -> Specs {
          return {{call.dtype(0), pooled_shape(call)}};
        })
        .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
          return {run_op("AveragePoolGrad", {dy, call.input(0)}, call.attributes())};
        });

// (dy, like) -> dx
[[maybe_unused]] OpDef& average_pool_grad = pool_op("AveragePoolGrad")
                                                .inputs(2)
                                                .infer([](const OpCall& call) { return same_as(call.spec(1)); })
                                                .gradient([](const OpCall& call, const Tensor& dx) -> Tensors {
                                                  return {run_op("AveragePool", {dx}, call.attributes()), {}};
                                                });

Attributes window_attributes(const Sizes& pool_size, const PoolOptions& options, int axes) {
  const Sizes size = for_each_axis(pool_size, axes);
  return {{"pool_size", size},
          {"strides", options.strides.empty() ? size : for_each_axis(options.strides, axes)},
          {"padding", options.padding}};
}

}  // namespace

Tensor max_pool(const Tensor& inputs, const Sizes& pool_size, const PoolOptions& options) {
  return with_channels_last("max_pool", inputs, options.data_format, [&](const Tensor& x) {
    return run_op_all("MaxPool", {x}, window_attributes(pool_size, options, x.rank() - 2))[0];
  });
}
Tensor average_pool(const Tensor& inputs, const Sizes& pool_size, const PoolOptions& options) {
  return with_channels_last("average_pool", inputs, options.data_format, [&](const Tensor& x) {
    return run_op("AveragePool", {x}, window_attributes(pool_size, options, x.rank() - 2));
  });
}
Tensor adaptive_max_pool(const Tensor& inputs, const Sizes& output_size, const std::string& data_format) {
  return with_channels_last("adaptive_max_pool", inputs, data_format, [&](const Tensor& x) {
    return run_op_all("MaxPool", {x}, {{"output_size", for_each_axis(output_size, x.rank() - 2)}})[0];
  });
}
Tensor adaptive_average_pool(const Tensor& inputs, const Sizes& output_size, const std::string& data_format) {
  return with_channels_last("adaptive_average_pool", inputs, data_format, [&](const Tensor& x) {
    return run_op("AveragePool", {x}, {{"output_size", for_each_axis(output_size, x.rank() - 2)}});
  });
}

}  // namespace cohort::ops
