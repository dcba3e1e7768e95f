#pragma once

#include "cohort/model/layer/regularizer.h"

namespace cohort::regularizers {

struct L1L2Options {
  // Factor of the sum of magnitudes.
  double l1 = 0.0;
  // Factor of the sum of squares.
  double l2 = 0.0;
};
COHORT_FIELDS(L1L2Options, l1, l2)

class L1L2Regularizer : public Regularizer {
 public:
  explicit L1L2Regularizer(L1L2Options options = {}) : options_(options) {}
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  L1L2Options options_;
};

class L1Regularizer : public Regularizer {
 public:
  explicit L1Regularizer(double l1 = 0.01) : l1_(l1) {}
  void visit_fields(FieldVisitor& visitor) override { visitor.field("l1", l1_); }
  Tensor operator()(const Tensor& weight) const override;

 private:
  double l1_;
};

class L2Regularizer : public Regularizer {
 public:
  explicit L2Regularizer(double l2 = 0.01) : l2_(l2) {}
  void visit_fields(FieldVisitor& visitor) override { visitor.field("l2", l2_); }
  Tensor operator()(const Tensor& weight) const override;

 private:
  double l2_;
};

// The penalty l1 * sum(|x|) + l2 * sum(x^2).
struct L1L2 : Ref<L1L2Regularizer> {
  explicit L1L2(L1L2Options options = {});
};
// The penalty l1 * sum(|x|).
//   l1: factor of the sum.
struct L1 : Ref<L1Regularizer> {
  explicit L1(double l1 = 0.01);
};
// The penalty l2 * sum(x^2).
//   l2: factor of the sum.
struct L2 : Ref<L2Regularizer> {
  explicit L2(double l2 = 0.01);
};

}  // namespace cohort::regularizers
