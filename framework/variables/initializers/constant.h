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
  explicit Constant(NestedNumbers value = 0.0) : Ref(std::make_shared<ConstantInitializer>(std::move(value))) {}
};
// Zeros everywhere.
struct Zeros : Ref<ZerosInitializer> {
  Zeros() : Ref(std::make_shared<ZerosInitializer>()) {}
};
// Ones everywhere.
struct Ones : Ref<OnesInitializer> {
  Ones() : Ref(std::make_shared<OnesInitializer>()) {}
};
// `gain` on the diagonal of a matrix, zeros elsewhere.
//   gain: the number on the diagonal.
struct Identity : Ref<IdentityInitializer> {
  explicit Identity(double gain = 1.0) : Ref(std::make_shared<IdentityInitializer>(gain)) {}
};

}  // namespace cohort::initializers
