#include "cohort/variables/initializers/random.h"

#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {

RandomNormalInitializer::RandomNormalInitializer(NormalOptions options)
    : RandomInitializer(options.seed), options_(options) {}

void RandomNormalInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor RandomNormalInitializer::operator()(const Shape& shape, DType dtype) const {
  return from_floats(random_values(shape, seed_, Numbers::Normal, options_.stddev, options_.mean), dtype);
}

Tensor TruncatedNormalInitializer::operator()(const Shape& shape, DType dtype) const {
  return from_floats(random_values(shape, seed_, Numbers::TruncatedNormal, options_.stddev, options_.mean), dtype);
}

RandomUniformInitializer::RandomUniformInitializer(UniformOptions options)
    : RandomInitializer(options.seed), options_(options) {}

void RandomUniformInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor RandomUniformInitializer::operator()(const Shape& shape, DType dtype) const {
  return from_floats(random_values(shape, seed_, Numbers::Uniform, options_.maxval - options_.minval, options_.minval),
                     dtype);
}

COHORT_REGISTER(Initializer, RandomNormalInitializer, "RandomNormal", "random_normal", "normal");
COHORT_REGISTER(Initializer, TruncatedNormalInitializer, "TruncatedNormal", "truncated_normal");
COHORT_REGISTER(Initializer, RandomUniformInitializer, "RandomUniform", "random_uniform", "uniform");

RandomNormal::RandomNormal(NormalOptions options) : Ref(std::make_shared<RandomNormalInitializer>(options)) {}
TruncatedNormal::TruncatedNormal(NormalOptions options) : Ref(std::make_shared<TruncatedNormalInitializer>(options)) {}
RandomUniform::RandomUniform(UniformOptions options) : Ref(std::make_shared<RandomUniformInitializer>(options)) {}

}  // namespace cohort::initializers
