#include "cohort/ops/ctc.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"

namespace cohort::ops {
namespace {

COHORT_OP("CTCLoss")  // (target, output, target_length, output_length) -> the loss, and its gradient for `output`
    .inputs(4)
    .checks()
    .attr("mask_index", 0)
    .infer([](const OpCall& call) -> Specs {
      const Shape &target = call.shape(0), &output = call.shape(1);
      call.check(call.dtype(0) == DType::Int32 && target.rank() == 2, "target must be int32 (batch, length)",
                 {{"target", call.spec(0)}});
      call.check(is_floating(call.dtype(1)) && output.rank() == 3, "output must be logits (batch, steps, classes)",
                 {{"output", call.spec(1)}});
      for (int i : {2, 3}) {
        call.check(call.dtype(i) == DType::Int32 && call.rank(i) == 1, "lengths must be int32 (batch)",
                   {{i == 2 ? "target_length" : "output_length", call.spec(i)}});
      }
      std::int64_t batch = kUnknown;
      for (int i = 0; i < 4; ++i) {
        const std::int64_t size = call.shape(i)[0];
        call.check(batch == kUnknown || size == kUnknown || size == batch, "all inputs must have one batch size",
                   {{"target.shape", target},
                    {"output.shape", output},
                    {"target_length.shape", call.shape(2)},
                    {"output_length.shape", call.shape(3)}});
        if (size != kUnknown) batch = size;
      }
      const auto blank = call.attr<std::int64_t>("mask_index");
      call.check(blank >= 0 && (output[2] == kUnknown || blank < output[2]), "mask_index must be a class",
                 {{"mask_index", blank}, {"output.shape", output}});
      return {{call.dtype(1), Shape{batch}}, call.spec(1)};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      if (dy[1].defined()) {
        throw unimplemented("CTCLoss", "a second derivative is not available");
      }
      if (!dy[0].defined()) return {{}, {}, {}, {}};
      return {{}, expand_dims(expand_dims(dy[0], -1), -1) * call.output(1), {}, {}};
    });

}  // namespace

Tensor ctc_loss(const Tensor& target, const Tensor& output, const Tensor& target_length, const Tensor& output_length,
                std::int64_t mask_index) {
  return run_op_all("CTCLoss",
                    {cast(target, DType::Int32), to_floating(output), cast(target_length, DType::Int32),
                     cast(output_length, DType::Int32)},
                    {{"mask_index", mask_index}})[0];
}

}  // namespace cohort::ops
