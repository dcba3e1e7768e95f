// Ops on tensors and on symbols against the numbers of the real Keras, which data/keras_ops.py wrote: names, defaults
// and meanings are Keras's.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cohort/model/activations.h"
#include "cohort/model/model.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/ops/ops.h"
#include "cohort/saving/model_json.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using Json = nlohmann::json;
using Symbolic = std::vector<SymbolicTensor>;

// The inputs of keras_ops.py.
template <class T>
struct KerasInputs {
  T x, y, p, q, t, ids, one, w, m, img;
};

Tensor patterned(const Shape& shape, int factor, int modulus, int less, double divisor) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(static_cast<float>(i * factor % modulus - less) / static_cast<float>(divisor));
  }
  return Tensor::of(values, shape);
}

const KerasInputs<Tensor>& keras_inputs() {
  static const float nan = std::nanf(""), inf = INFINITY;
  static const KerasInputs<Tensor> given{
      Tensor::of<float>({0.1f, 0.5f, -0.9f, 0.3f, -0.7f, 0.2f}, {2, 3}),
      Tensor::of<float>({1.5f, -2.0f, 0.25f, 0.0f, 3.0f, -1.0f}, {2, 3}),
      Tensor::of<float>({0.2f, 1.5f, 3.0f, 0.7f, 2.5f, 0.4f}, {2, 3}),
      Tensor::of<float>({0.2f, 0.5f, 0.3f, 0.7f, 0.1f, 0.2f}, {2, 3}),
      Tensor::of<float>({0, 1, 0, 1, 0, 0}, {2, 3}),
      Tensor::of<std::int32_t>({0, 2, 1, 1, 1, 0}, {2, 3}),
      Tensor::of<std::int32_t>({2, 1}, {2}),
      Tensor::of<float>({1.0f, nan, inf, -2.0f, -inf, 0.5f, 2.0f, nan}, {2, 4}),
      patterned({2, 3, 4}, 7, 11, 4, 4),
      patterned({2, 4, 4, 4}, 5, 17, 6, 5),
  };
  return given;
}
const Tensor& three() {
  static const Tensor three = Tensor::of<float>({0.5f, 1.0f, 2.0f}, {3});
  return three;
}
Tensor kernel() { return patterned({2, 2, 4, 2}, 3, 7, 3, 4); }
Tensor wide() { return patterned({2, 2, 4, 1}, 1, 5, 2, 4); }
Tensor point() { return patterned({1, 1, 4, 2}, 1, 3, 1, 2); }
Tensor back() { return patterned({2, 2, 2, 4}, 3, 7, 3, 4); }
Tensor places() { return Tensor::of<std::int32_t>({0, 1, 1, 2}, {2, 2}); }

Tensors listed(const Tensor& one) { return {one}; }
Tensors listed(const Tensors& several) { return several; }
Tensors listed(const ops::TopK& top) { return {top.values, top.indices}; }
Tensors listed(const ops::Moments& found) { return {found.mean, found.variance}; }
Symbolic listed(const SymbolicTensor& one) { return {one}; }
Symbolic listed(const Symbolic& several) { return several; }
Symbolic listed(const ops::SymbolicTopK& top) { return {top.values, top.indices}; }
Symbolic listed(const ops::SymbolicMoments& found) { return {found.mean, found.variance}; }

struct KerasCase {
  const char* name;
  Tensors (*eager)(const KerasInputs<Tensor>&);
  Symbolic (*symbolic)(const KerasInputs<SymbolicTensor>&);
};

// The same expression on tensors and on symbols.
#define COHORT_BODY(expression)                                           \
  [[maybe_unused]] const auto& [x, y, p, q, t, ids, one, w, m, img] = in; \
  return listed(expression);
#define COHORT_CASE(name, expression)                                                                             \
  KerasCase {                                                                                                     \
#name, [](const KerasInputs <Tensor>& in) { COHORT_BODY(expression) }, [](const KerasInputs <SymbolicTensor>& \
                                                                                  in) { COHORT_BODY(expression) } \
  }
#define COHORT_TENSOR_CASE(name, expression)                                       \
  KerasCase {                                                                      \
#name, [](const KerasInputs <Tensor>& in) { COHORT_BODY(expression) }, nullptr \
  }

Tensor without_infinities(const Tensor& w) { return ops::where(ops::isinf(w), 1.0, w); }
SymbolicTensor without_infinities(const SymbolicTensor& w) { return ops::where(ops::isinf(w), 1.0, w); }

std::vector<KerasCase> names_and_defaults() {
  using namespace ops;
  return {
      COHORT_CASE(concatenate, concatenate({x, y})),
      COHORT_CASE(concatenate_last, concatenate({x, y}, -1)),
      COHORT_CASE(concatenate_mixed, concatenate({ids, x, y > 0})),
      COHORT_CASE(concatenate_integers, concatenate({ids > 0, ids}, 1)),
      COHORT_CASE(stack_mixed, stack({ids, x}, 1)),
      COHORT_CASE(split_sections, split(m, 2)),
      COHORT_CASE(split_indices, split(m, {1, 3}, 2)),
      COHORT_CASE(split_one_index, split(m, {1}, 1)),
      COHORT_CASE(gelu, gelu(y)),
      COHORT_CASE(gelu_exact, gelu(y, false)),
      COHORT_CASE(argmax, argmax(y)),
      COHORT_CASE(argmax_keepdims, argmax(y, std::nullopt, true)),
      COHORT_CASE(argmax_axis, argmax(y, 1)),
      COHORT_CASE(argmin, argmin(y)),
      COHORT_CASE(argmin_axis, argmin(y, 0, true)),
      COHORT_CASE(take, take(x, ids)),
      COHORT_CASE(take_axis, take(x, ids, 1)),
      COHORT_CASE(take_negative, take(x, ids - 2, 1)),
      COHORT_CASE(take_along_axis, take_along_axis(x, one)),
      COHORT_CASE(take_along_axis_axis, take_along_axis(x, ids - 1, 1)),
      COHORT_CASE(cumsum, cumsum(x)),
      COHORT_CASE(cumsum_axis, cumsum(x, 1)),
      COHORT_CASE(cumprod, cumprod(p)),
      COHORT_CASE(cumsum_bool, cumsum(x > 0, 1)),
      COHORT_CASE(repeat, repeat(x, 2)),
      COHORT_CASE(repeat_axis, repeat(x, 2, 1)),
      COHORT_CASE(roll, roll(x, 1)),
      COHORT_CASE(roll_axis, roll(x, 1, 1)),
      COHORT_CASE(expand_dims_list, expand_dims(x, {-1, 1})),
      COHORT_CASE(moveaxis_list, moveaxis(img, {1, 3}, {-1, 1})),
      COHORT_CASE(round, round(y * 2.5)),
      COHORT_CASE(round_decimals, round(x * 1.234, 1)),
      COHORT_CASE(round_integers, round(ids)),
      COHORT_CASE(layer_normalization, layer_normalization(x * 0.001)),
      COHORT_CASE(layer_normalization_weights, layer_normalization(x, three(), three() * 2)),
      COHORT_CASE(layer_normalization_axes, layer_normalization(m, Tensor(), Tensor(), {1, 2}, 0.01)),
      COHORT_CASE(layer_normalization_rms, layer_normalization(x, three(), Tensor(), -1, 1e-7, true)),
      COHORT_CASE(unstack, unstack(m, std::nullopt, 1)),
      COHORT_CASE(absolute, absolute(y)),
      COHORT_CASE(amax, amax(m, {1, 2})),
      COHORT_CASE(amin, amin(m)),
      COHORT_CASE(arccos, arccos(x)),
      COHORT_CASE(arccosh, arccosh(p + 1)),
      COHORT_CASE(arcsin, arcsin(x)),
      COHORT_CASE(arcsinh, arcsinh(y)),
      COHORT_CASE(arctan, arctan(y)),
      COHORT_CASE(arctan2, arctan2(x, y)),
      COHORT_CASE(arctanh, arctanh(x)),
      COHORT_CASE(batch_normalization, batch_normalization(x, three(), three() * 2, -1, three() * 3, three() * 4)),
      COHORT_CASE(isfinite, isfinite(w)),
      COHORT_CASE(isinf, isinf(w)),
      COHORT_CASE(isnan, isnan(w)),
      COHORT_CASE(power, power(p, y)),
      COHORT_CASE(std, ops::std(m, 1)),
      COHORT_CASE(var, var(m, {1, 2}, true)),
      COHORT_CASE(true_divide, true_divide(x, p)),
      COHORT_CASE(swish, swish(y)),
      COHORT_CASE(hard_swish, hard_swish(y)),
  };
}

std::vector<KerasCase> activation_cases() {
  using namespace ops;
  return {
      COHORT_CASE(celu, celu(y, 0.7)),
      COHORT_CASE(elu, elu(y)),
      COHORT_CASE(glu, glu(m)),
      COHORT_CASE(hard_shrink, hard_shrink(x)),
      COHORT_CASE(hard_sigmoid, hard_sigmoid(y)),
      COHORT_CASE(hard_silu, hard_silu(y)),
      COHORT_CASE(hard_tanh, hard_tanh(y)),
      COHORT_CASE(leaky_relu, leaky_relu(y)),
      COHORT_CASE(log_sigmoid, log_sigmoid(y)),
      COHORT_CASE(selu, selu(y)),
      COHORT_CASE(silu, silu(y)),
      COHORT_CASE(soft_shrink, soft_shrink(x, 0.2)),
      COHORT_CASE(softsign, softsign(y)),
      COHORT_CASE(sparse_plus, sparse_plus(y)),
      COHORT_CASE(sparse_sigmoid, sparse_sigmoid(x)),
      COHORT_CASE(sparsemax, sparsemax(y)),
      COHORT_CASE(squareplus, squareplus(y)),
      COHORT_CASE(tanh_shrink, tanh_shrink(y)),
      COHORT_CASE(threshold, threshold(x, 0.15, -2.0)),
      COHORT_CASE(softmax, softmax(y)),
      COHORT_CASE(log_softmax, log_softmax(y, 0)),
      COHORT_CASE(activations_gelu, activations::gelu(y)),
      COHORT_CASE(activations_relu, activations::relu(y, 0.1, 1.2, 0.2)),
      COHORT_CASE(activations_mish, activations::mish(y)),
      COHORT_CASE(activations_softsign, activations::softsign(y)),
  };
}

std::vector<KerasCase> cases_of_files() {
  using namespace ops;
  return {
      COHORT_CASE(append, append(x, y)),
      COHORT_CASE(append_axis, append(x, y, 1)),
      COHORT_CASE(array_split, array_split(m, 3, 2)),
      COHORT_CASE(average, average(x, 1, three())),
      COHORT_CASE(average_all, average(x)),
      COHORT_CASE(binary_crossentropy, binary_crossentropy(t, q)),
      COHORT_CASE(categorical_crossentropy, categorical_crossentropy(t, p)),
      COHORT_CASE(categorical_crossentropy_logits, categorical_crossentropy(t, y, true)),
      COHORT_CASE(sparse_categorical_crossentropy, sparse_categorical_crossentropy(one, q)),
      COHORT_CASE(cbrt, cbrt(y)),
      COHORT_CASE(conj, conj(x)),
      COHORT_CASE(conjugate, conjugate(x)),
      COHORT_CASE(copy, copy(x)),
      COHORT_CASE(real, real(x)),
      COHORT_CASE(deg2rad, deg2rad(y)),
      COHORT_CASE(rad2deg, rad2deg(y)),
      COHORT_CASE(depth_to_space, depth_to_space(img, 2)),
      COHORT_CASE(space_to_depth, space_to_depth(img, 2)),
      COHORT_CASE(diagonal, diagonal(m, 1, 1, 2)),
      COHORT_CASE(diff, diff(m, 2)),
      COHORT_CASE(divide_no_nan, divide_no_nan(x, y)),
      COHORT_CASE(dsplit, dsplit(m, 2)),
      COHORT_CASE(hsplit, hsplit(m, {1})),
      COHORT_CASE(vsplit, vsplit(m, 2)),
      COHORT_CASE(dstack, dstack({x, y})),
      COHORT_CASE(hstack, hstack({x, y})),
      COHORT_CASE(vstack, vstack({x, y})),
      COHORT_CASE(exp2, exp2(y)),
      COHORT_CASE(fabs, fabs(y)),
      COHORT_CASE(fliplr, fliplr(x)),
      COHORT_CASE(flipud, flipud(x)),
      COHORT_CASE(fmax, fmax(w, ops::full({}, 0.75))),
      COHORT_CASE(fmin, fmin(w, ops::full({}, 0.75))),
      COHORT_CASE(fmod, fmod(y, p)),
      COHORT_CASE(heaviside, heaviside(y, ops::full({}, 0.5))),
      COHORT_CASE(hypot, hypot(x, y)),
      COHORT_CASE(inner, inner(x, y)),
      COHORT_CASE(outer, outer(x, y)),
      COHORT_CASE(vdot, vdot(x, y)),
      COHORT_CASE(isclose, isclose(x, y, 0.5, 0.3)),
      COHORT_CASE(isneginf, isneginf(w)),
      COHORT_CASE(isposinf, isposinf(w)),
      COHORT_CASE(logaddexp, logaddexp(x, y)),
      COHORT_CASE(logaddexp2, logaddexp2(x, y)),
      COHORT_CASE(median, median(m, 2)),
      COHORT_CASE(median_all, median(x, {}, true)),
      COHORT_CASE(moments, moments(m, 1)),
      COHORT_CASE(multi_hot, multi_hot(ids, 4)),
      COHORT_CASE(nan_to_num, nan_to_num(w, 0.25, 9.0)),
      COHORT_CASE(nanmax, nanmax(w, 1)),
      COHORT_CASE(nanmin, nanmin(w, 1)),
      COHORT_CASE(nanmean, nanmean(without_infinities(w), 1)),
      COHORT_CASE(nansum, nansum(without_infinities(w), 0)),
      COHORT_CASE(nanprod, nanprod(without_infinities(w))),
      COHORT_CASE(norm, norm(x)),
      COHORT_CASE(norm_vector, norm(m, 3, 2)),
      COHORT_CASE(norm_matrix, norm(m, 1, {1, 2})),
      COHORT_CASE(norm_frobenius, norm(m, "fro", {1, 2}, true)),
      COHORT_CASE(normalize, normalize(x)),
      COHORT_CASE(normalize_order, normalize(x, 1, 3)),
      COHORT_CASE(psnr, psnr(x, y, 2.0)),
      COHORT_CASE(ptp, ptp(m, 2)),
      COHORT_CASE(ravel, ravel(m)),
      COHORT_CASE(rms_normalization, rms_normalization(x, three())),
      COHORT_CASE(rot90, rot90(m, 3, {1, 2})),
      COHORT_CASE(saturate_cast, saturate_cast(y * 200, DType::UInt8)),
      COHORT_CASE(select, select({x<-0.5, x> 0.2}, {y, p}, 7.0)),
      COHORT_CASE(sinc, sinc(y)),
      COHORT_CASE(trace, trace(m, 0, 1, 2)),
      COHORT_CASE(tril, tril(m, 1)),
      COHORT_CASE(triu, triu(m)),
  };
}

std::vector<KerasCase> further_cases() {
  using namespace ops;
  return {
      COHORT_CASE(adaptive_average_pool, adaptive_average_pool(img, {2, 3})),
      COHORT_CASE(adaptive_max_pool, adaptive_max_pool(img, {2, 3})),
      COHORT_CASE(average_pool, average_pool(img, {2}, {.strides = {1}, .padding = "same"})),
      COHORT_CASE(max_pool, max_pool(img, {2})),
      COHORT_CASE(max_pool_channels_first, max_pool(img, {2}, {.data_format = "channels_first"})),
      COHORT_CASE(conv, conv(img, kernel(), {.strides = {2}, .padding = "same"})),
      COHORT_CASE(conv_transpose, conv_transpose(img, back(), {.strides = {2}})),
      COHORT_CASE(depthwise_conv, depthwise_conv(img, wide())),
      COHORT_CASE(separable_conv, separable_conv(img, wide(), point())),
      COHORT_CASE(count_nonzero, cast(count_nonzero(y, 1), DType::Int32)),
      COHORT_CASE(ctc_loss, ctc_loss(slice(ids, {0, 0}, {2, 2}) + 1, take_at(img, 0, 2), one * 0 + 2, one * 0 + 4)),
      COHORT_CASE(dot_product_attention, dot_product_attention(img, img * 2.0, img, {.is_causal = true})),
      COHORT_CASE(full_like, full_like(x, 2.5)),
      COHORT_CASE(pad, pad(x, {{0, 0}, {1, 2}}, "constant", 3.0)),
      COHORT_CASE(pad_reflect, pad(m, {{0, 0}, {1, 0}, {2, 1}}, "reflect")),
      COHORT_CASE(slice, slice(m, {0, 1, 1}, {2, 2, 2})),
      COHORT_CASE(top_k, top_k(m, 2)),
      COHORT_CASE(where_tensor, where(x > 0, y, three())),
      COHORT_CASE(resize, resize(img, 3, 5)),
      COHORT_CASE(rgb_to_grayscale, rgb_to_grayscale(slice(img, {0, 0, 0, 0}, {2, 4, 4, 3}))),
      COHORT_CASE(extract_patches, extract_patches(img, {2, 2})),
      COHORT_CASE(one_hot, one_hot(ids, 4, 1)),
      COHORT_CASE(logsumexp, logsumexp(m, {1, 2})),
      COHORT_CASE(scatter, scatter(expand_dims(one, 1), x, {4, 3})),
      COHORT_CASE(scatter_positions, scatter(places(), take_at(y, 1, 1), {3, 3})),
      COHORT_CASE(scatter_values, scatter(expand_dims(one, 1), slice(three(), {1}, {2}), {4})),
      COHORT_CASE(clip_tensors, clip(y, three() * -1, three())),
      COHORT_CASE(clip_mixed, clip(y, x, x + 1)),
      COHORT_CASE(tensordot_axes, tensordot(m, x, {1, 0}, {1, 0})),
      COHORT_CASE(tensordot_tensor, tensordot(m, three(), {1}, {0})),
      COHORT_CASE(tensordot_number, tensordot(x, transpose(y), 1)),
      COHORT_CASE(scatter_update, scatter_update(x, places(), take_at(y, 0, 1))),
      COHORT_TENSOR_CASE(identity, identity(3)),
      COHORT_TENSOR_CASE(identity_integers, identity(2, DType::Int32)),
      COHORT_TENSOR_CASE(arange, arange(4)),
      COHORT_TENSOR_CASE(arange_floats, arange(0.5, 3)),
      COHORT_TENSOR_CASE(arange_step, arange(1, 3, 0.5)),
      COHORT_TENSOR_CASE(arange_dtype, arange(1, 4, 2, DType::Int64)),
      COHORT_TENSOR_CASE(bincount, bincount(one, {}, 2)),
      COHORT_TENSOR_CASE(bincount_weights, bincount(one, slice(three(), {0}, {2}), 5)),
      COHORT_CASE(digitize, digitize(y, {-1.0, 0.5, 2.0})),
      COHORT_TENSOR_CASE(nonzero, nonzero(y)),
      COHORT_CASE(segment_sum, segment_sum(x, one, 4)),
      COHORT_TENSOR_CASE(segment_sum_counted, segment_sum(x, one - 1)),
      COHORT_TENSOR_CASE(size, ops::size(m)),
      COHORT_TENSOR_CASE(array, ops::array(std::vector<float>{1.5f, 2.0f})),
      COHORT_CASE(convert_to_tensor, convert_to_tensor(ids, DType::Float32)),
  };
}

const std::vector<KerasCase>& keras_cases() {
  static const std::vector<KerasCase> all = [] {
    std::vector<KerasCase> cases;
    for (const auto& group : {names_and_defaults(), activation_cases(), cases_of_files(), further_cases()}) {
      cases.insert(cases.end(), group.begin(), group.end());
    }
    return cases;
  }();
  return all;
}

const Json& expected() {
  static const Json json = [] {
    std::ifstream file(test::source_dir() / "tests/model/data/keras_ops.json");
    return Json::parse(file);
  }();
  return json;
}

double number(const Json& value) {
  if (!value.is_string()) return value.get<double>();
  return value == "nan" ? std::nan("") : value == "inf" ? INFINITY : -INFINITY;
}

void expect_as_keras(const Tensors& seen, const Json& wanted) {
  ASSERT_EQ(seen.size(), wanted.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    EXPECT_EQ(to_string(seen[i].dtype()), wanted[i]["dtype"].get<std::string>());
    ASSERT_EQ(seen[i].shape(), Shape(wanted[i]["shape"].get<std::vector<std::int64_t>>()));
    const std::vector<double> values = ops::cast(seen[i], DType::Float64).to_vector<double>();
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double want = number(wanted[i]["values"][j]);
      if (std::isnan(want) || std::isinf(want)) {
        EXPECT_EQ(std::isnan(values[j]), std::isnan(want)) << "element " << j;
        if (std::isinf(want)) {
          EXPECT_EQ(values[j], want) << "element " << j;
        }
      } else {
        EXPECT_NEAR(values[j], want, 2e-6 * std::max(1.0, std::abs(want))) << "element " << j;
      }
    }
  }
}

class KerasOps : public testing::TestWithParam<KerasCase> {};
class KerasOpsOnSymbols : public testing::TestWithParam<KerasCase> {};

TEST_P(KerasOps, GiveKerassNumbers) {
  const KerasCase& each = GetParam();
  expect_as_keras(each.eager(keras_inputs()), expected().at(each.name));
}

TEST_P(KerasOpsOnSymbols, GiveTheSameAndAreSaved) {
  const KerasCase& each = GetParam();
  const auto symbol = [](const Tensor& like) {
    return Input(like.shape().slice(1), {.dtype = like.dtype(), .batch_size = 2});
  };
  const auto& [x, y, p, q, t, ids, one, w, m, img] = keras_inputs();
  const Tensors given = {x, y, p, q, t, ids, one, w, m, img};
  Symbolic symbols;
  for (const Tensor& tensor : given) symbols.push_back(symbol(tensor));
  const Symbolic outputs = each.symbolic({symbols[0], symbols[1], symbols[2], symbols[3], symbols[4], symbols[5],
                                          symbols[6], symbols[7], symbols[8], symbols[9]});
  Model model(symbols, outputs);
  const Element all = Element::tuple({given.begin(), given.end()});
  expect_as_keras(model.apply(all, {}).flatten(), expected().at(each.name));
  const std::string json = model_to_json(model);
  const Ref<Model> read = model_from_json(json);
  EXPECT_EQ(model_to_json(*read), json);
  expect_as_keras(read->apply(all, {}).flatten(), expected().at(each.name));
}

std::vector<KerasCase> cases_of_symbols() {
  std::vector<KerasCase> cases = keras_cases();
  std::erase_if(cases, [](const KerasCase& each) { return each.symbolic == nullptr; });
  return cases;
}
std::string name_of(const testing::TestParamInfo<KerasCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, KerasOps, testing::ValuesIn(keras_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(All, KerasOpsOnSymbols, testing::ValuesIn(cases_of_symbols()), name_of);

TEST(KerasOpsTable, HasACaseForEveryNumberOfKeras) {
  std::set<std::string> here, there;
  for (const KerasCase& each : keras_cases()) here.insert(each.name);
  for (const auto& [name, value] : expected().items()) there.insert(name);
  EXPECT_EQ(here, there);
}

#undef COHORT_BODY
#undef COHORT_CASE
#undef COHORT_TENSOR_CASE

}  // namespace
}  // namespace cohort
