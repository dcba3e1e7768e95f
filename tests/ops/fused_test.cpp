#include "cohort/core/dispatch.h"
#include "cohort/kernels/fusion.h"
#include "cohort/ops/math.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

// Writes a FusedElementwise node instruction by instruction.
class FusedBuilder {
 public:
  explicit FusedBuilder(Tensors inputs) : inputs_(std::move(inputs)) {}

  std::int64_t input(int i) const { return i; }
  std::int64_t add(const std::string& op, const std::vector<std::int64_t>& operands, DType dtype) {
    ops_.push_back(op);
    arity_.push_back(static_cast<std::int64_t>(operands.size()));
    args_.insert(args_.end(), operands.begin(), operands.end());
    dtypes_.push_back(static_cast<std::int64_t>(dtype));
    return static_cast<std::int64_t>(inputs_.size() + ops_.size()) - 1;
  }
  Tensors run(const std::vector<std::int64_t>& values) const {
    std::vector<std::int64_t> results;
    for (std::int64_t value : values) results.push_back(value - static_cast<std::int64_t>(inputs_.size()));
    return run_op_all("FusedElementwise", inputs_,
                      {{"ops", ops_}, {"arity", arity_}, {"args", args_}, {"dtypes", dtypes_}, {"results", results}});
  }

 private:
  Tensors inputs_;
  std::vector<std::string> ops_;
  std::vector<std::int64_t> arity_, args_, dtypes_;
};

void expect_same_bits(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.spec(), b.spec());
  EXPECT_EQ(a.to_vector<double>(), b.to_vector<double>());
}

// sigmoid(x * row + column) * scalar, with a mask of where it is large: every kind of operand, two outputs.
COHORT_OP_REFERENCE(FusedElementwise, equals_its_ops_bit_for_bit, kFloats) {
  for (const Shape& shape : {Shape{7, 13}, Shape{300, 127}, Shape{1, 1}, Shape{2, 40000}}) {
    SCOPED_TRACE(shape.to_string());
    const Tensor x = spread_tensor(shape, -3, 3, dtype), row = spread_tensor({shape[1]}, -1, 1, dtype, 2);
    const Tensor column = spread_tensor({shape[0], 1}, -1, 1, dtype, 3), scalar = tensor_of({1.5}, {}, dtype);
    FusedBuilder fused({x, row, column, scalar});
    const auto product = fused.add("Multiply", {0, 1}, dtype);
    const auto sum = fused.add("Add", {product, 2}, dtype);
    const auto gate = fused.add("Sigmoid", {sum}, dtype);
    const auto twice = fused.add("Square", {3}, dtype);
    const auto scaled = fused.add("Multiply", {gate, twice}, dtype);
    const auto large = fused.add("Greater", {scaled, 3}, boolean);
    const auto chosen = fused.add("Select", {large, 0, scaled}, dtype);
    const auto single = fused.add("Cast", {chosen}, float32);
    const Tensors results = fused.run({scaled, single, large});

    const Tensor plain = ops::sigmoid(x * row + column) * ops::square(scalar);
    expect_same_bits(results[0], plain);
    expect_same_bits(results[1], ops::cast(ops::where(plain > scalar, x, plain), float32));
    expect_same_bits(results[2], plain > scalar);
  }
}

TEST(FusedElementwise, UsesScratchAgainInLongChains) {
  const Tensor x = spread_tensor({5000}, -1, 1, float32);
  FusedBuilder fused({x});
  std::vector<std::int64_t> kept;
  std::int64_t value = 0;
  Tensor plain = x;
  for (int i = 0; i < 60; ++i) {
    value = fused.add(i % 2 == 0 ? "Tanh" : "Add",
                      i % 2 == 0 ? std::vector{value} : std::vector{value, std::int64_t{0}}, float32);
    plain = i % 2 == 0 ? ops::tanh(plain) : plain + x;
  }
  expect_same_bits(fused.run({value})[0], plain);
}

TEST(FusedElementwise, GivesOneResultTwice) {
  FusedBuilder fused({tensor_of({1, 2}, {2})});
  const auto y = fused.add("Square", {0}, float64);
  const Tensors results = fused.run({y, y});
  expect_tensor(results[0], float64, {2}, {1, 4});
  expect_tensor(results[1], float64, {2}, {1, 4});
}

TEST(FusedElementwise, WorksOnIntegersAndBools) {
  FusedBuilder fused({tensor_of({7, -7, 9}, {3}, int64), tensor_of({2, 2, -4}, {3}, int64)});
  const auto quotient = fused.add("FloorDivide", {0, 1}, int64);
  const auto test = fused.add("Less", {quotient, 0}, boolean);
  const auto opposite = fused.add("LogicalNot", {test}, boolean);
  const Tensors results = fused.run({quotient, opposite});
  expect_tensor(results[0], int64, {3}, {3, -4, -3});
  expect_tensor(results[1], boolean, {3}, {0, 1, 0});
}

TEST(FusedElementwise, RefusesProgramsThatDoNotFit) {
  const Tensor x = tensor_of({1, 2}, {2});
  const auto refused = [&](const std::string& op, const std::vector<std::int64_t>& operands, DType dtype,
                           const std::string& part) {
    expect_error(
        [&] {
          FusedBuilder fused({x});
          fused.run({fused.add(op, operands, dtype)});
        },
        {part});
  };
  refused("Add", {0, 1}, float64, "earlier instruction");
  refused("Add", {0, -1}, float64, "earlier instruction");
  refused("Add", {0}, float64, "Add: ");
  refused("Sum", {0}, float64, "elementwise");
  refused("Exp", {0}, float32, "gives=float64");
  refused("NoSuchOp", {0}, float64, "NoSuchOp");
  FusedBuilder fused({x});
  fused.add("Exp", {0}, float64);
  expect_error([&] { fused.run({5}); }, {"a result must be an instruction"});
}

TEST(Fusible, KnowsTheTable) {
  const Specs real = {{float32, {2}}}, text = {{DType::String, {2}}};
  EXPECT_TRUE(kernels::fusible(find_op("Exp"), real));
  EXPECT_TRUE(kernels::fusible(find_op("Cast"), real));
  EXPECT_FALSE(kernels::fusible(find_op("Sum"), real));
  EXPECT_FALSE(kernels::fusible(find_op("Cast"), text));
}

}  // namespace
}  // namespace cohort::test
