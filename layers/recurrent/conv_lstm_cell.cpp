#include "cohort/layers/recurrent/conv_lstm_cell.h"

#include <algorithm>

#include "cohort/layers/convolutional/conv_support.h"
#include "cohort/layers/layer_checks.h"
#include "cohort/layers/recurrent/lstm_cell.h"
#include "cohort/ops/array.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/conv_window.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

ConvLSTMCellLayer::ConvLSTMCellLayer(int rank, std::int64_t filters, Window kernel_size, ConvLSTMOptions options)
    : rank_(rank), filters_(filters), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {
  set_name("conv_lstm_cell");
  ConvLSTMCellLayer::fields_changed();
}

void ConvLSTMCellLayer::visit_shared_fields(FieldVisitor& visitor) {
  visitor.field("filters", filters_);
  visitor.field("kernel_size", kernel_size_);
  visit_options(options_, visitor);
}

void ConvLSTMCellLayer::fields_changed() {
  const std::string who = class_name();
  if (filters_ <= 0) throw invalid_argument(who, "filters must be positive", {{"filters", filters_}});
  standardize_conv(who, rank_, kernel_size_, options_.strides, options_.dilation_rate, options_.padding);
  check_strides_or_dilation(who, options_.strides, options_.dilation_rate);
  check_data_format(*this, options_.data_format);
  if (!options_.activation) options_.activation = "linear";
  if (!options_.recurrent_activation) options_.recurrent_activation = "linear";
  options_.dropout = std::clamp(options_.dropout, 0.0, 1.0);
  options_.recurrent_dropout = std::clamp(options_.recurrent_dropout, 0.0, 1.0);
  factors_.set_seed(options_.seed);
}

void ConvLSTMCellLayer::build(const Shape& input) {
  const std::int64_t channels = conv_channels(*this, input, rank_, options_.data_format);
  if (!input.slice(1).fully_known()) {
    throw invalid_argument(title(), "all axes but the batch and the steps must have known sizes",
                           {{"input.shape", input}}, "Give Input the whole shape of a step.");
  }
  check_kernel_fits(*this, input, options_.data_format, kernel_size_, options_.dilation_rate, options_.padding);
  Shape kernel(kernel_size_.sizes), recurrent(kernel_size_.sizes);
  kernel.push_back(channels);
  recurrent.push_back(filters_);
  kernel.push_back(4 * filters_);
  recurrent.push_back(4 * filters_);
  state_ = channels_last() ? Shape() : Shape{filters_};
  for (int i = 0; i < rank_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    state_.push_back(padded_window(input[(channels_last() ? 1 : 2) + i], kernel_size_.sizes[at],
                                   options_.strides.sizes[at], options_.dilation_rate.sizes[at], options_.padding)
                         .outputs);
  }
  if (channels_last()) state_.push_back(filters_);

  kernel_ = add_weight("kernel", kernel,
                       {.initializer = options_.kernel_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  recurrent_kernel_ = add_weight("recurrent_kernel", recurrent,
                                 {.initializer = options_.recurrent_initializer,
                                  .dtype = dtype(),
                                  .regularizer = options_.recurrent_regularizer,
                                  .constraint = options_.recurrent_constraint});
  if (!options_.use_bias) return;
  bias_ = add_weight("bias", {4 * filters_},
                     {.initializer = options_.unit_forget_bias ? forget_bias_initializer(options_.bias_initializer)
                                                               : options_.bias_initializer,
                      .dtype = dtype(),
                      .regularizer = options_.bias_regularizer,
                      .constraint = options_.bias_constraint});
}

RnnCell::Step ConvLSTMCellLayer::prepare(const Tensor& input, const CallContext& context) {
  const auto drops = [&](double rate) { return context.training && rate > 0.0 && rate < 1.0; };
  CellDropout draw;
  if (drops(options_.dropout)) draw.input = factors_.draw(input, options_.dropout, 4);
  if (drops(options_.recurrent_dropout)) {
    draw.recurrent = factors_.draw(batch_zeros(input, state_, compute_dtype()), options_.recurrent_dropout, 4);
  }
  // One convolution for all gates, unless each of them drops other inputs.
  const Tensors kernels = draw.input.empty() ? Tensors{kernel_} : ops::split(kernel_, 4, rank_ + 1);
  const Tensors recurrent_kernels =
      draw.recurrent.empty() ? Tensors{recurrent_kernel_} : ops::split(recurrent_kernel_, 4, rank_ + 1);
  const int axis = channels_last() ? rank_ + 1 : 1;
  Tensor bias;
  if (options_.use_bias) {
    bias = bias_;
    for (int i = 0; !channels_last() && i < rank_; ++i) bias = ops::expand_dims(bias, -1);
  }
  const ops::ConvOptions of_input{.strides = options_.strides.sizes,
                                  .padding = options_.padding,
                                  .data_format = options_.data_format,
                                  .dilation_rate = options_.dilation_rate.sizes};
  const ops::ConvOptions of_state{.padding = "same", .data_format = options_.data_format};
  return [=, activation = options_.activation, recurrent_activation = options_.recurrent_activation](
             const Tensor& x, const Tensors& states) -> StepResult {
    const auto convolved = [axis](const Tensor& from, const Tensors& factors, const Tensors& with,
                                  const ops::ConvOptions& options) {
      Tensors parts;
      for (std::size_t i = 0; i < with.size(); ++i)
        parts.push_back(ops::conv(dropped(from, factors, i), with[i], options));
      return parts.size() == 1 ? parts[0] : ops::concatenate(parts, axis);
    };
    Tensor sum = convolved(x, draw.input, kernels, of_input);
    if (bias.defined()) sum = sum + bias;
    const Tensors gates = ops::split(sum + convolved(states[0], draw.recurrent, recurrent_kernels, of_state), 4, axis);
    const Tensor i = (*recurrent_activation)(gates[0]), f = (*recurrent_activation)(gates[1]);
    const Tensor c = f * states[1] + i * (*activation)(gates[2]);
    const Tensor h = (*recurrent_activation)(gates[3]) * (*activation)(c);
    return {h, {h, c}};
  };
}

}  // namespace cohort::layers
