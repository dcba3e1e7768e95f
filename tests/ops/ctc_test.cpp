#include "cohort/ops/ctc.h"

#include <cmath>

#include "cohort/core/dispatch.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

Tensor whole_numbers(std::vector<double> values, const Shape& shape) { return tensor_of(values, shape, int32); }

// Two steps spell "1" as 1 1, 1 blank or blank 1: three of the nine paths when all classes are alike.
COHORT_OP_REFERENCE(CTCLoss, counts_all_alignments, kFloats) {
  const Tensor logits = tensor_of({0, 0, 0, 0, 0, 0}, {1, 2, 3}, dtype);
  const Tensor one = whole_numbers({1}, {1, 1}), length = whole_numbers({1}, {1}), steps = whole_numbers({2}, {1});
  expect_tensor(ctc_loss(one, logits, length, steps), dtype, {1}, {-std::log(3.0 / 9.0)});
  // A label twice needs a blank between.
  const Tensor twice = whole_numbers({1, 1}, {1, 2}), two = whole_numbers({2}, {1}), three = whole_numbers({3}, {1});
  const Tensor longer = tensor_of({0, 0, 0, 0, 0, 0}, {1, 3, 2}, dtype);
  expect_tensor(ctc_loss(twice, longer, two, three), dtype, {1}, {-std::log(1.0 / 8.0)});
}
COHORT_OP_GRADIENT(CTCLoss, of_logits) {
  const Tensor labels = whole_numbers({1, 2, 2, 3, 0, 0}, {2, 3}), lengths = whole_numbers({3, 1}, {2});
  const Tensor steps = whole_numbers({6, 4}, {2});
  check_gradient([=](const Tensors& x) { return ctc_loss(labels, x[0], lengths, steps); },
                 {spread_tensor({2, 6, 4}, -2, 2)}, {.second_order = false});
}
TEST(CTCLoss, labels_longer_than_the_steps_have_a_finite_loss) {
  const Tensor loss = ctc_loss(whole_numbers({1, 1}, {1, 2}), tensor_of({0, 0}, {1, 1, 2}), whole_numbers({2}, {1}),
                               whole_numbers({1}, {1}));
  expect_values(loss, {706.8936}, 1e-3);  // what TensorFlow says
}
TEST(CTCLoss, another_class_may_be_the_blank) {
  const Tensor logits = tensor_of({0.5, -1, 2, 0, 1, 1}, {1, 2, 3}),
               moved = tensor_of({2, 0.5, -1, 1, 0, 1}, {1, 2, 3});
  const Tensor length = whole_numbers({1}, {1}), steps = whole_numbers({2}, {1});
  expect_values(ctc_loss(whole_numbers({0}, {1, 1}), logits, length, steps, 2),
                ctc_loss(whole_numbers({1}, {1, 1}), moved, length, steps).to_vector<double>(), 1e-12);
}
TEST(CTCLoss, wrong_arguments_are_errors) {
  const Tensor logits = tensor_of({0, 0, 0, 0}, {1, 2, 2}), one = whole_numbers({1}, {1});
  expect_error([&] { ctc_loss(whole_numbers({2}, {1, 1}), logits, one, one); }, {"labels must lie in [0, 2)", "=2"});
  expect_error(
      [&] {
        ctc_loss(whole_numbers({1}, {1, 1}), logits, whole_numbers({2}, {1}), one);
      },
      {"target_length=2"});
  expect_error(
      [&] {
        ctc_loss(whole_numbers({1}, {1, 1}), logits, one, whole_numbers({3}, {1}));
      },
      {"output_length=3"});
  expect_error([&] { ctc_loss(whole_numbers({1}, {1}), logits, one, one); }, {"target must be int32 (batch, length)"});
  expect_error([&] { ctc_loss(whole_numbers({1, 1}, {2, 1}), logits, one, one); }, {"one batch size"});
  expect_error([&] { ctc_loss(whole_numbers({1}, {1, 1}), logits, one, one, 2); }, {"mask_index=2"});
}

}  // namespace
}  // namespace cohort::test
