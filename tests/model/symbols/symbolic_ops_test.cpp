#include "cohort/model/symbols/symbolic_ops.h"

#include <gtest/gtest.h>

#include "cohort/model/functional.h"
#include "cohort/ops/ops.h"
#include "cohort/saving/model_json.h"
#include "tests/model/small_models.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

Tensor sample() { return Tensor::of(std::vector<float>{0.1f, 0.5f, 0.9f, 0.3f, 0.7f, 0.2f}, {2, 3}); }

struct OperationCase {
  const char* name;
  SymbolicTensor (*symbolic)(const SymbolicTensor&);
  Tensor (*eager)(const Tensor&);
};

// The same expression on a symbol and on a tensor.
#define COHORT_CASE(name, expression)                                                                              \
  OperationCase {                                                                                                  \
    name, [](const SymbolicTensor& x) { return (expression); }, [](const Tensor& x) { return Tensor(expression); } \
  }

const std::vector<OperationCase>& cases() {
  using namespace ops;
  static const std::vector<OperationCase> cases = {
      COHORT_CASE("operators", (1.0 - x) * x / (x + 2) - 0.5),
      COHORT_CASE("minus", -x),
      COHORT_CASE("comparison", cast(x > 0.4, DType::Float32)),
      COHORT_CASE("choice", where(x < 0.4, x, 7.0)),
      COHORT_CASE("pow", pow(x, 3)),
      COHORT_CASE("bounds", maximum(minimum(x, 0.6), 0.25)),
      COHORT_CASE("clip", clip(x, 0.2, 0.6)),
      COHORT_CASE("functions", exp(x) + ops::log(x) + sqrt(x) + tanh(x) + abs(sin(x)) + erf(x) + sigmoid(x) + relu(x)),
      COHORT_CASE("round", round(x * 10.0)),
      COHORT_CASE("reshape", reshape(x, {-1, 3, 1})),
      COHORT_CASE("expand", squeeze(expand_dims(expand_dims(x, 1), -1), {1})),
      COHORT_CASE("transpose", transpose(expand_dims(x, 1), {0, 2, 1})),
      COHORT_CASE("swap", moveaxis(swapaxes(expand_dims(x, 1), 1, 2), 1, 2)),
      COHORT_CASE("concatenate", concatenate({x, x * 2.0}, 1)),
      COHORT_CASE("stack", stack({x, x}, 1)),
      COHORT_CASE("tile", tile(repeat(x, 2, 1), {1, 2})),
      COHORT_CASE("flip", roll(flip(x, {1}), 1, 1)),
      COHORT_CASE("slice", strided_slice(x, {SliceSpec{}, SliceSpec{.begin = 2, .end = SliceSpec::kOpen, .step = -1}})),
      COHORT_CASE("at", take_at(x, -1, 1)),
      COHORT_CASE("reductions", sum(x, 1, keep_dims) + mean(x, {1}, keep_dims) + max(x, -1, keep_dims) +
                                    min(x, -1, keep_dims) + prod(x, 1, keep_dims) + logsumexp(x, 1, keep_dims)),
      COHORT_CASE("spread", variance(x, 1) + standard_deviation(x, 1)),
      COHORT_CASE("argmax", cast(argmax(x, 1) + argmin(x, 1), DType::Float32)),
      COHORT_CASE("softmax", softmax(x) + log_softmax(x, 1)),
      COHORT_CASE("running", cumsum(x, 1) + cumprod(x, 1)),
      COHORT_CASE("order", sort(x) + cast(argsort(x), DType::Float32)),
      COHORT_CASE("one_hot", one_hot(cast(x * 10.0, DType::Int32), 10)),
      COHORT_CASE("products", matmul(expand_dims(x, 2), expand_dims(x, 1)) + einsum("bi,bj->bij", {x, x})),
  };
  return cases;
}

class SymbolicOps : public testing::TestWithParam<std::size_t> {};

TEST_P(SymbolicOps, ComputeWhatTheOpsDoAndAreSaved) {
  const OperationCase& each = cases()[GetParam()];
  const SymbolicTensor input = Input({3});
  Model model(input, each.symbolic(input));
  const Tensor expected = each.eager(sample());
  const Tensor seen = model(sample());
  EXPECT_EQ(seen.shape(), expected.shape());
  EXPECT_EQ(ops::cast(seen, DType::Float32).to_vector<float>(), ops::cast(expected, DType::Float32).to_vector<float>());
  const std::string json = model_to_json(model);
  EXPECT_NE(json.find(R"("module":"keras.src.ops.)"), std::string::npos) << json;
  const Ref<Model> read = model_from_json(json);
  EXPECT_EQ(model_to_json(*read), json);
  EXPECT_EQ(ops::cast((*read)(sample()), DType::Float32).to_vector<float>(),
            ops::cast(expected, DType::Float32).to_vector<float>());
}

INSTANTIATE_TEST_SUITE_P(All, SymbolicOps, testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& info) { return std::string(cases()[info.param].name); });

TEST(SymbolicOps, AreWrittenAsKerasWritesThem) {
  reset_layer_names();
  const SymbolicTensor x = Input({4});
  Model model(x, ops::reshape(1.0 - (x + 2.0), {-1, 2, 2}), {.name = "m"});
  const std::string json = model_to_json(model);
  EXPECT_NE(json.find(R"({"module":"keras.src.ops.numpy","class_name":"Add","config":{"name":"add"},)"
                      R"("registered_name":"Add","name":"add","inbound_nodes":[{"args":[{"class_name":)"
                      R"("__keras_tensor__","config":{"shape":[null,4],"dtype":"float32","keras_history":)"
                      R"(["input_layer",0,0]}},2.0],"kwargs":{}}]})"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("args":[1.0,{"class_name":"__keras_tensor__")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("class_name":"Reshape","config":{"name":"reshape","newshape":[-1,2,2]})"), std::string::npos)
      << json;
  EXPECT_EQ(model.layers().size(), 1u);  // the input: operations are no layers
  EXPECT_NE(model.summary_text().find("reshape (Reshape)"), std::string::npos) << model.summary_text();
}

// Keras asks for every argument of a normalization, and for numbers and lists where it wrote such.
TEST(SymbolicOps, AreWrittenSoThatKerasReadsThem) {
  const SymbolicTensor x = Input({4});
  const std::string normalized = model_to_json(Model(x, ops::layer_normalization(x)));
  EXPECT_NE(normalized.find(R"(}},null,null],"kwargs":{}})"), std::string::npos) << normalized;
  const std::string cut = model_to_json(Model(x, ops::split(x, {1}, 1)));
  EXPECT_NE(cut.find(R"("indices_or_sections":[1],"axis":1)"), std::string::npos) << cut;
  const std::string even = model_to_json(Model(x, ops::split(x, 2, 1)));
  EXPECT_NE(even.find(R"("indices_or_sections":2,"axis":1)"), std::string::npos) << even;
  const std::string all = model_to_json(Model(x, ops::argmax(x)));
  EXPECT_NE(all.find(R"("axis":null,"keepdims":false)"), std::string::npos) << all;
  const std::string scaled = model_to_json(Model(x, ops::normalize(x)));
  EXPECT_NE(scaled.find(R"("axis":-1,"order":2,)"), std::string::npos) << scaled;
}

TEST(SymbolicOps, TakeTensorsAsConstants) {
  const SymbolicTensor x = Input({3});
  Model model(x, x * Tensor::of(std::vector<float>{1, 2, 3}, {3}));
  const std::string json = model_to_json(model);
  EXPECT_NE(json.find(R"({"class_name":"__numpy__","config":{"value":[1.0,2.0,3.0],"dtype":"float32"}})"),
            std::string::npos)
      << json;
  EXPECT_EQ((*model_from_json(json))(Tensor::full({1, 3}, 2.0)).to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

// What Keras writes for ops.max(x, axis=1, initial=0.5).
TEST(SymbolicOps, ReductionsReadFromAFileBeginWithTheirInitialValue) {
  const auto computed = [](const SymbolicTensor& reduced, const SymbolicTensor& x, const char* initial) {
    std::string json = model_to_json(Model(x, reduced));
    const std::string none = R"("initial":null)";
    json.replace(json.find(none), none.size(), std::string(R"("initial":)") + initial);
    return (*model_from_json(json))(sample()).to_vector<float>();
  };
  const SymbolicTensor x = Input({3});
  EXPECT_EQ(computed(ops::max(x, 1), x, "0.8"), (std::vector<float>{0.9f, 0.8f}));
  EXPECT_EQ(computed(ops::min(x, 1), x, "0.15"), (std::vector<float>{0.1f, 0.15f}));
  EXPECT_EQ(computed(ops::max(x, 1), x, "1"), (std::vector<float>{1.0f, 1.0f}));
}

TEST(SymbolicOps, SayWhatIsWrongWithTheirFields) {
  using Integers = std::vector<std::int64_t>;
  const SymbolicTensor x = Input({4, 4, 3});
  test::expect_error([&] { call_operation("image>Resize", {x}, {{"size", Integers{4}}}); }, {"Resize:", "height"});
  test::expect_error(
      [&] {
        call_operation("image>Resize", {x}, {{"size", Integers{4, 4}}, {"data_format", std::string("first")}});
      },
      {"Resize:", "data_format", "first"});
  test::expect_error([&] { call_operation("numpy>Rot90", {x}, {{"axes", Integers{1}}}); }, {"Rot90:", "axes"});
  test::expect_error([&] { call_operation("numpy>Sin", {x, x}); }, {"Sin:", "fewer arguments"});
}

TEST(SymbolicOps, TrainBetweenLayers) {
  auto dense = make<testing_models::Linear>(1);
  const SymbolicTensor x = Input({1});
  Model model(x, dense(x) * 2.0);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = model.fit(testing_models::line_x(), testing_models::line_y(), {.epochs = 3, .verbose = 0});
  EXPECT_LT(history["loss"][2], history["loss"][0]);
}

}  // namespace

#undef COHORT_CASE

}  // namespace cohort
