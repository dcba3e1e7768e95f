#include "cohort/variables/initializers/random.h"

#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {

RandomNormalInitializer::RandomNormalInitializer(NormalOptions options)
    : RandomInitializer(options.seed), mean_(options.mean), stddev_(options.stddev) {}

void RandomNormalInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visitor.field("mean", mean_);
  visitor.field("stddev", stddev_);
}

Tensor RandomNormalInitializer::operator()(const Shape& shape, DType dtype) const {
  return from_floats(random_values(shape, seed_, &NumberStream::normal, stddev_, mean_), shape, dtype);
}

Tensor TruncatedNormalInitializer::operator()(const Shape& shape, DType dtype) const {
  return from_floats(random_values(shape, seed_, &NumberStream::truncated_normal, stddev_, mean_), shape, dtype);
}

RandomUniformInitializer::RandomUniformInitializer(UniformOptions options)
    : RandomInitializer(options.seed), minval_(options.minval), maxval_(options.maxval) {}

void RandomUniformInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visitor.field("minval", minval_);
  visitor.field("maxval", maxval_);
}

Tensor RandomUniformInitializer::operator()(const Shape& shape, DType dtype) const {
  return from_floats(random_values(shape, seed_, &NumberStream::uniform, maxval_ - minval_, minval_), shape, dtype);
}

COHORT_REGISTER(Initializer, RandomNormalInitializer, "RandomNormal", "random_normal", "normal");
COHORT_REGISTER(Initializer, TruncatedNormalInitializer, "TruncatedNormal", "truncated_normal");
COHORT_REGISTER(Initializer, RandomUniformInitializer, "RandomUniform", "random_uniform", "uniform");

}  // namespace cohort::initializers
