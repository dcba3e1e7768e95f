#pragma once

#include "cohort/config/nested_numbers.h"
#include "cohort/variables/initializer.h"

namespace cohort::initializers {

class ConstantInitializer : public Initializer {
 public:
  explicit ConstantInitializer(NestedNumbers value = 0.0) : value_(std::move(value)) {}
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Shape& shape, DType dtype) const override;

 private:
  NestedNumbers value_;
};

class ZerosInitializer : public Initializer {
 public:
  Tensor operator()(const Shape& shape, DType dtype) const override;
};

class OnesInitializer : public Initializer {
 public:
  Tensor operator()(const Shape& shape, DType dtype) const override;
};

class IdentityInitializer : public Initializer {
 public:
  explicit IdentityInitializer(double gain = 1.0) : gain_(gain) {}
  // Keras leaves the gain out of the config; it is written where leaving it out would change the values.
  void visit_fields(FieldVisitor& visitor) override {
    if (visitor.reads_config() || gain_ != 1.0) visitor.field("gain", gain_);
  }
  Tensor operator()(const Shape& shape, DType dtype) const override;

 private:
  double gain_;
};

// One value everywhere, or an array that broadcasts to the shape asked for.
//   value: a number, or nested lists of numbers.
struct Constant : Ref<ConstantInitializer> {
  explicit Constant(NestedNumbers value = 0.0);
};
// Zeros everywhere.
struct Zeros : Ref<ZerosInitializer> {
  Zeros();
};
// Ones everywhere.
struct Ones : Ref<OnesInitializer> {
  Ones();
};
// `gain` on the diagonal of a matrix, zeros elsewhere.
//   gain: the number on the diagonal.
struct Identity : Ref<IdentityInitializer> {
  explicit Identity(double gain = 1.0);
};

}  // namespace cohort::initializers
