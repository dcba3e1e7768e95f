#include "cohort/kernels/cuda/fused_source.h"

#include <gtest/gtest.h>

#include <numeric>

#include "cohort/cuda/nvrtc.h"
#include "cohort/cuda/program_headers.h"
#include "cohort/kernels/cuda/fused_axes.h"
#include "cohort/kernels/functors.h"

namespace cohort::kernels::cuda {
namespace {

// A FusedElementwise node, written instruction by instruction.
class Node {
 public:
  explicit Node(Specs inputs) : inputs_(std::move(inputs)) {}
  std::int64_t add(const std::string& op, const std::vector<std::int64_t>& operands, DType dtype) {
    ops_.push_back(op);
    arity_.push_back(static_cast<std::int64_t>(operands.size()));
    args_.insert(args_.end(), operands.begin(), operands.end());
    dtypes_.push_back(static_cast<std::int64_t>(dtype));
    return static_cast<std::int64_t>(inputs_.size() + ops_.size()) - 1;
  }
  template <class Use>
  auto use(const std::vector<std::int64_t>& values, const Use& use) const {
    std::vector<std::int64_t> results;
    for (std::int64_t value : values) results.push_back(value - static_cast<std::int64_t>(inputs_.size()));
    const Attributes attributes{
        {"ops", ops_}, {"arity", arity_}, {"args", args_}, {"dtypes", dtypes_}, {"results", results}};
    const OpDef& op = find_op("FusedElementwise");
    const Specs outputs = op.infer_outputs(inputs_, attributes);
    const OpCall call(op, attributes, inputs_);
    return use(KernelSpec(call, outputs, cpu()));
  }
  FusedSource source(const std::vector<std::int64_t>& values) const {
    return use(values, [](const KernelSpec& spec) { return FusedSource(spec); });
  }

 private:
  Specs inputs_;
  std::vector<std::string> ops_;
  std::vector<std::int64_t> arity_, args_, dtypes_;
};

std::size_t compiled_bytes(const FusedSource& source) {
  return cohort::cuda::Nvrtc::instance().compile(source.text(), cohort::cuda::program_headers(), 90).size();
}

// sigmoid(x * row + column) * scalar, with a mask of where it is large: every kind of operand, several outputs.
FusedSource gate(const Shape& shape, DType dtype) {
  Node node({{dtype, shape}, {dtype, {shape[1]}}, {dtype, {shape[0], 1}}, {dtype, {}}});
  const auto product = node.add("Multiply", {0, 1}, dtype);
  const auto sum = node.add("Add", {product, 2}, dtype);
  const auto value = node.add("Sigmoid", {sum}, dtype);
  const auto twice = node.add("Square", {3}, dtype);
  const auto scaled = node.add("Multiply", {value, twice}, dtype);
  const auto large = node.add("Greater", {scaled, 3}, boolean);
  const auto chosen = node.add("Select", {large, 0, scaled}, dtype);
  const auto single = node.add("Cast", {chosen}, float32);
  return node.source({scaled, single, large});
}

TEST(FusedSource, CompilesForEveryFloatingType) {
  for (DType dtype : {float16, bfloat16, float32, float64}) {
    const FusedSource even = gate({64, 128}, dtype), odd = gate({7, 13}, dtype);
    EXPECT_EQ(even.per_access(), 16 / std::min<int>(4, static_cast<int>(size_of(dtype)))) << dtype;
    EXPECT_EQ(odd.per_access(), 1) << dtype;
    EXPECT_GT(compiled_bytes(even), 0u);
    EXPECT_GT(compiled_bytes(odd), 0u);
  }
}

TEST(FusedSource, IsTheSameForOtherSizes) {
  EXPECT_EQ(gate({64, 128}, float32).text(), gate({32, 256}, float32).text());
  EXPECT_NE(gate({64, 128}, float32).text(), gate({64, 128}, bfloat16).text());
  EXPECT_NE(gate({64, 128}, float32).sizes(), gate({32, 256}, float32).sizes());
}

TEST(FusedSource, CompilesCastsBetweenAllTypes) {
  const std::vector<DType> types = {boolean, uint8, int8, int32, int64, float16, bfloat16, float32, float64};
  for (DType from : types) {
    Node node({{from, {1000}}});
    std::vector<std::int64_t> results;
    for (DType to : types) results.push_back(node.add("Cast", {0}, to));
    EXPECT_GT(compiled_bytes(node.source(results)), 0u) << from;
  }
}

TEST(FusedSource, CompilesTheWholeTableInOneChain) {
  Node node({{bfloat16, {4, 1, 6}}, {bfloat16, {5, 1}}, {bfloat16, {4, 5, 6}}});
  std::int64_t value = node.add("Add", {0, 1}, bfloat16);
#define COHORT_ROW(Name, function, types, ...) value = node.add(#Name, {value}, bfloat16);
  COHORT_UNARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) value = node.add(#Name, {value, 2}, bfloat16);
  COHORT_BINARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
  EXPECT_GT(compiled_bytes(node.source({value})), 0u);
}

TEST(FusedSource, CompilesForMoreElementsThan32BitsCount) {
  const FusedSource wide = gate({1 << 20, 1 << 12}, bfloat16);
  EXPECT_NE(wide.text(), gate({1 << 10, 1 << 12}, bfloat16).text());
  EXPECT_GT(compiled_bytes(wide), 0u);
}

TEST(FusedSource, MovesAsManyElementsAtOnceAsTheNarrowestAllows) {
  Node node({{bfloat16, {24}}, {float32, {24}}, {boolean, {24}}});
  const auto wide = node.add("Cast", {0}, float32);
  const auto sum = node.add("Add", {wide, 1}, float32);
  const FusedSource source = node.source({node.add("Select", {2, sum, wide}, float32)});
  EXPECT_EQ(source.per_access(), 8);
  std::vector<int> alignments;
  for (const auto& access : source.packed_accesses()) alignments.push_back(access.alignment);
  EXPECT_EQ(alignments, (std::vector<int>{16, 16, 8, 16}));
}

// A batch norm's arithmetic on elements: relu(x * scale + shift) of a half type, by float32 rows.
FusedSource activated_norm(const Shape& shape, const Shape& rows) {
  Node node({{bfloat16, shape}, {float32, rows}, {float32, rows}});
  const auto wide = node.add("Cast", {0}, float32);
  const auto scaled = node.add("Add", {node.add("Multiply", {wide, 1}, float32), 2}, float32);
  return node.source({node.add("Relu", {node.add("Cast", {scaled}, bfloat16)}, bfloat16)});
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(FusedSource, ReadsRowsOnceWhereAThreadMeetsTheSameAgain) {
  // A block of 256 threads takes 2048 elements at once.
  for (const auto& [channels, multiple] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {64, 1}, {2048, 1}, {768, 3}, {4096, 2}, {24, 3}, {50304, 393}}) {
    const FusedSource source = activated_norm({4, 7, 7, channels}, {channels});
    EXPECT_EQ(source.blocks_multiple(), multiple) << channels;
    EXPECT_EQ(source.per_access(), 8);
    EXPECT_EQ(source.blocks_multiple() * FusedSource::kThreads * source.per_access() % channels, 0) << channels;
    EXPECT_EQ(count_of(source.text(), "rows_of<kAtOnce>(arguments, i * kAtOnce);"), 1u) << channels;
    EXPECT_EQ(count_of(source.text(), "compute<2, kAtOnce>"), 1u) << channels;
  }
  EXPECT_GT(compiled_bytes(activated_norm({4, 7, 7, 64}, {64})), 0u);
  EXPECT_EQ(activated_norm({4, 7, 7, 64}, {64}).text(), activated_norm({9, 768}, {768}).text());
}

TEST(FusedSource, ReadsOtherRowsForEveryPack) {
  const std::int64_t long_row = 8 * 1000003;
  for (const FusedSource& source :
       {activated_norm({4, 64, 8, 8}, {64, 1, 1}), activated_norm({3, long_row}, {long_row}),
        activated_norm({4, 3, 5, 64}, {3, 1, 64}), activated_norm({8, 64}, {8, 1})}) {
    EXPECT_EQ(source.blocks_multiple(), 1);
    EXPECT_EQ(source.per_access(), 8);
    EXPECT_EQ(count_of(source.text(), "compute<2, kAtOnce>"), 0u);
    EXPECT_GT(compiled_bytes(source), 0u);
  }
}

// The offsets that the program computes, by its own means.
std::vector<std::int64_t> offsets(const FusedAxes& axes, std::size_t input, std::int64_t at) {
  std::vector<std::int64_t> along(axes.sizes.size());
  for (std::size_t axis = axes.sizes.size() - 1; axis > 0; --axis) {
    const Division division(static_cast<std::uint32_t>(axes.sizes[axis]));
    const auto number = static_cast<std::uint32_t>(at);
    const auto high = static_cast<std::uint32_t>(std::uint64_t{number} * division.magic >> 32);
    const std::int64_t above = (high + number) >> division.shift;
    along[axis] = at - above * axes.sizes[axis];
    at = above;
  }
  along[0] = at;
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < along.size(); ++axis) offset += along[axis] * axes.strides[axis][input];
  return {offset};
}

TEST(FusedAxes, FindTheElementsThatBroadcastingMeans) {
  const Shape output{4, 1, 3, 5, 2};
  const std::vector<Shape> shapes = {{5, 2}, {3, 1, 1}, {4, 1, 1, 5, 1}, {2}, {4, 1, 3, 1, 2}, {1, 1, 3, 5, 2}};
  Node node([&] {
    Specs specs{{float32, output}};
    for (const Shape& shape : shapes) specs.push_back({float32, shape});
    return specs;
  }());
  std::int64_t value = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    value = node.add("Add", {value, static_cast<std::int64_t>(i) + 1}, float32);
  }
  const FusedAxes axes = node.use({value}, [](const KernelSpec& spec) { return FusedAxes(spec); });
  EXPECT_EQ(std::accumulate(axes.sizes.begin(), axes.sizes.end(), std::int64_t{1}, std::multiplies<>()), 120);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    ASSERT_EQ(axes.walks[i + 1], FusedAxes::Walk::Broadcast);
    EXPECT_LE(axes.strides.back()[i], 1);
    for (std::int64_t at = 0; at < output.num_elements(); ++at) {
      std::int64_t rest = at, expected = 0, stride = 1;
      for (int axis = output.rank() - 1, own = shapes[i].rank() - 1; own >= 0; --axis, --own) {
        if (shapes[i][own] != 1) expected += rest % output[axis] * stride;
        stride *= shapes[i][own];
        rest /= output[axis];
      }
      EXPECT_EQ(offsets(axes, i, at)[0], expected) << shapes[i] << " at " << at;
    }
  }
}

TEST(FusedAxes, MergeWhatAllInputsWalkAlike) {
  Node node({{float32, {6, 4, 5}}, {float32, {4, 5}}, {float32, {}}});
  const auto value = node.add("Add", {node.add("Add", {0, 1}, float32), 2}, float32);
  const FusedAxes axes = node.use({value}, [](const KernelSpec& spec) { return FusedAxes(spec); });
  EXPECT_EQ(axes.sizes, (std::vector<std::int64_t>{6, 20}));
  EXPECT_EQ(axes.walks, (std::vector{FusedAxes::Walk::Dense, FusedAxes::Walk::Broadcast, FusedAxes::Walk::Single}));
}

TEST(Division, IsExactBelowTwoToThe31) {
  for (std::uint32_t divisor :
       {1u, 2u, 3u, 7u, 641u, 50304u, 65536u, 1000003u, 0x3fffffffu, 0x40000001u, 0x7fffffffu}) {
    const Division division(divisor);
    for (std::uint32_t base : {0u, divisor, 12345u * 3, 0x3fffffffu, 0x7ffffffdu}) {
      for (std::uint32_t number = base > 1 ? base - 2 : 0; number <= base + 2 && number < 1u << 31; ++number) {
        const auto high = static_cast<std::uint32_t>(std::uint64_t{number} * division.magic >> 32);
        EXPECT_EQ((high + number) >> division.shift, number / divisor) << number << " / " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace cohort::kernels::cuda
