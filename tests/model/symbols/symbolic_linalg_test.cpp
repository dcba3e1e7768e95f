#include "cohort/model/symbols/symbolic_linalg.h"

#include <gtest/gtest.h>

#include "cohort/model/functional.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/ops/ops.h"
#include "cohort/saving/model_json.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

namespace la = ops::linalg;

// Two symmetric positive definite matrices.
Tensor matrices() {
  return Tensor::of(std::vector<float>{4, 1, 0.5f, 1, 5, 2, 0.5f, 2, 6, 3, 0, -1, 0, 2, 0.5f, -1, 0.5f, 4}, {2, 3, 3});
}
const Tensor& constant() {
  static const Tensor b = Tensor::of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});
  return b;
}

struct LinalgCase {
  const char* name;
  const char* saved_as;
  SymbolicTensor (*symbolic)(const SymbolicTensor&);
  Tensor (*eager)(const Tensor&);
};

// The same expression on a symbol and on a tensor.
#define COHORT_CASE(name, saved_as, expression)                           \
  LinalgCase {                                                            \
    name, saved_as, [](const SymbolicTensor& x) { return (expression); }, \
        [](const Tensor& x) { return Tensor(expression); }                \
  }

const std::vector<LinalgCase>& linalg_cases() {
  static const std::vector<LinalgCase> cases = {
      COHORT_CASE("cholesky", "linalg\",\"class_name\":\"Cholesky\"", la::cholesky(x, true)),
      COHORT_CASE("cholesky_inverse", "CholeskyInverse", la::cholesky_inverse(x, true)),
      COHORT_CASE("det", "Det", ops::det(x)),
      COHORT_CASE("inv", "Inv", ops::inv(x)),
      COHORT_CASE("eigh_values", "Eigh", la::eigh(x).w),
      COHORT_CASE("eigh_vectors", "Eigh", la::eigh(x).v),
      COHORT_CASE("lu", "LuFactor", la::lu_factor(x).lu),
      COHORT_CASE("pivots", "LuFactor", ops::cast(la::lu_factor(x).pivots, DType::Float32)),
      COHORT_CASE("qr", "Qr", ops::matmul(la::qr(x).q, la::qr(x, "complete").r)),
      COHORT_CASE("svd", "SVD", ops::matmul(la::svd(x, false).u, la::svd(x).vh)),
      COHORT_CASE("singular_values", "SVD", la::svd(x, true, false).s),
      COHORT_CASE("solve", "Solve", la::solve(x, x * 2.0)),
      COHORT_CASE("solve_for_a_constant", "Solve", la::solve(x, constant())),
      COHORT_CASE("solve_triangular", "SolveTriangular", la::solve_triangular(x, x + 1.0, true)),
      COHORT_CASE("pinv", "Pinv", la::pinv(x, 0.5) + la::pinv(x)),
      COHORT_CASE("rank", "MatrixRank", ops::cast(la::matrix_rank(x) + la::matrix_rank(x, 4.0), DType::Float32)),
      COHORT_CASE("norm", "Norm", la::norm(x, "nuc", {1, 2}) + la::norm(x, 2, {1, 2}) + la::norm(x, "fro", {1, 2})),
      COHORT_CASE("norm_of_vectors", "Norm", la::norm(x, 1, 1, true) + la::norm(x, {}, 1, true)),
      COHORT_CASE("logdet", "Logdet", ops::logdet(x)),
      COHORT_CASE("slogdet", "Slogdet", ops::slogdet(x).logabsdet),
  };
  return cases;
}
#undef COHORT_CASE

class SymbolicLinalg : public testing::TestWithParam<std::size_t> {};

TEST_P(SymbolicLinalg, ComputesWhatTheOpsDoAndIsSaved) {
  const LinalgCase& each = linalg_cases()[GetParam()];
  const SymbolicTensor input = Input({3, 3});
  Model model(input, each.symbolic(input));
  const Tensor expected = each.eager(matrices());
  const Tensor seen = model(matrices());
  EXPECT_EQ(seen.shape(), expected.shape());
  EXPECT_EQ(seen.to_vector<float>(), expected.to_vector<float>());
  const std::string json = model_to_json(model);
  EXPECT_NE(json.find(each.saved_as), std::string::npos) << json;
  const Ref<Model> read = model_from_json(json);
  EXPECT_EQ(model_to_json(*read), json);
  EXPECT_EQ((*read)(matrices()).to_vector<float>(), expected.to_vector<float>());
}

INSTANTIATE_TEST_SUITE_P(All, SymbolicLinalg, testing::Range(std::size_t{0}, linalg_cases().size()),
                         [](const auto& info) { return std::string(linalg_cases()[info.param].name); });

TEST(SymbolicLinalg, LeastSquaresOfASymbolWithAKnownBatch) {
  const SymbolicTensor a = Input({2}, {.batch_size = 3});
  Model model(a, la::lstsq(a, Tensor::of(std::vector<float>{6, 0, 0}, {3})));
  const std::vector<float> line = model(Tensor::of(std::vector<float>{1, 0, 1, 1, 1, 2}, {3, 2})).to_vector<float>();
  ASSERT_EQ(line.size(), 2U);
  EXPECT_NEAR(line[0], 5.0f, 1e-5);
  EXPECT_NEAR(line[1], -3.0f, 1e-5);
}

}  // namespace
}  // namespace cohort
