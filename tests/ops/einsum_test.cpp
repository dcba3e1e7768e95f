#include "cohort/ops/einsum.h"

#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

void expect_same(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(got.shape(), want.shape());
  expect_values(got, want.to_vector<double>(), 1e-12);
}

TEST(Einsum, what_other_ops_do) {
  const Tensor a = spread({2, 3}, 1), b = spread({3, 4}, 2), v = spread({3}, 3);
  expect_same(einsum("ij,jk->ik", {a, b}), matmul(a, b));
  expect_same(einsum("ij,jk", {a, b}), matmul(a, b));
  expect_same(einsum("ji,kj->ik", {transpose(a), transpose(b)}), matmul(a, b));
  expect_same(einsum("ij,jk->ki", {a, b}), transpose(matmul(a, b)));
  expect_same(einsum("ij->ji", {a}), transpose(a));
  expect_same(einsum("ij->", {a}), sum(a));
  expect_same(einsum("ij -> j", {a}), sum(a, 0));
  expect_same(einsum("ij,j->i", {a, v}), matmul(a, v));
  expect_same(einsum("ij,ij->ij", {a, a}), a * a);
  expect_same(einsum("i,j->ij", {v, v}), expand_dims(v, 1) * expand_dims(v, 0));
  expect_same(einsum("ij,kl->", {a, b}), sum(a) * sum(b));
}
TEST(Einsum, batches_and_ellipsis) {
  const Tensor a = spread({2, 3, 4}, 1), b = spread({2, 5, 4}, 2), w = spread({4, 6}, 3);
  expect_same(einsum("bij,bkj->bik", {a, b}), matmul(a, b, false, true));
  expect_same(einsum("...ij,...kj->...ik", {a, b}), matmul(a, b, false, true));
  expect_same(einsum("...j,jk->...k", {a, w}), matmul(a, w));
  expect_same(einsum("...i->...", {a}), sum(a, -1));
  expect_same(einsum("...ij,jk->...ik", {a, w}), matmul(a, w));
  expect_same(einsum("...ij,...kj->...ik", {spread({1, 3, 4}, 1), b}), matmul(spread({1, 3, 4}, 1), b, false, true));
}
TEST(Einsum, three_operands) {
  const Tensor a = spread({2, 3}, 1), b = spread({3, 4}, 2), c = spread({4, 5}, 3);
  expect_same(einsum("ij,jk,kl->il", {a, b, c}), matmul(matmul(a, b), c));
}
TEST(Einsum, gradient_with_an_unknown_batch) {
  check_gradient([](const Tensors& x) { return einsum("bid,bjd->bij", x); },
                 {spread({2, 3, 2}, 1), spread({2, 2, 2}, 2)});
  check_gradient([](const Tensors& x) { return einsum("bthd,hdo->bto", x); },
                 {spread({2, 2, 2, 2}, 1), spread({2, 2, 3}, 2)});
}
TEST(Einsum, refuses_what_it_cannot_read) {
  const Tensor a = spread({2, 3});
  expect_error([&] { einsum("ij,jk->ik", {a}); }, {"einsum:", "one term per operand"});
  expect_error([&] { einsum("i->i", {a}); }, {"einsum:", "label for each of its axes"});
  expect_error([&] { einsum("ii->i", {spread({2, 2})}); }, {"einsum:", "twice"});
  expect_error([&] { einsum("ij->ik", {a}); }, {"einsum:", "must occur"});
  expect_error([&] { einsum("i1->i", {a}); }, {"einsum:", "letters"});
}

}  // namespace
}  // namespace cohort::test
