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

namespace {

[[maybe_unused]] const bool random_registered = [] {
  Registry<Initializer>& all = Initializer::registry();
  all.add("RandomNormal", [] { return std::make_shared<RandomNormalInitializer>(); }, {"random_normal", "normal"});
  all.add("TruncatedNormal", [] { return std::make_shared<TruncatedNormalInitializer>(); }, {"truncated_normal"});
  all.add("RandomUniform", [] { return std::make_shared<RandomUniformInitializer>(); }, {"random_uniform", "uniform"});
  return true;
}();

}  // namespace
}  // namespace cohort::initializers
