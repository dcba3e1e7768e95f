#include "tests/faults/summing.h"

#include <algorithm>

namespace cohort::test {
namespace {

class SummingLayer : public Layer {
 public:
  void build(const Shape&) override {
    first_ = add_weight("first", {kWidth}, {.initializer = "zeros"});
    second_ = add_weight("second", {kWidth}, {.initializer = "zeros"});
  }
  Tensor call(const Tensor& x, const CallContext&) override { return x * (ops::sum(first_) + ops::sum(second_)); }

 private:
  Variable first_, second_;
};

COHORT_REGISTER_LAYER("faults", SummingLayer);

std::int64_t number(std::int64_t index) { return 1 + index * 7 % 11; }

}  // namespace

SummingModel::SummingModel(std::int64_t steps_per_execution) : Sequential({make<SummingLayer>()}) {
  compile({.optimizer = optimizers::SGD(1.0), .steps_per_execution = steps_per_execution});
}

Tensor SummingModel::compute_loss(const Element&, const Element&, const Element& y_pred, const Element&, bool) {
  return -ops::sum(y_pred.leaf());
}

Dataset numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(number(i));
  return datasets::from_tensor_slices(Tensor::of(values, {count, 1})).batch(1);
}

std::int64_t sum_of_numbers(std::int64_t count) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += number(i);
  return sum;
}

std::ostream& operator<<(std::ostream& out, const Sums& sums) {
  for (std::size_t i = 0; i < sums.weights.size(); ++i) out << (i == 0 ? "" : ", ") << sums.weights[i];
  return out << " after " << sums.iterations << " iterations";
}

Sums expected_sums(std::int64_t count, int epochs) {
  const std::int64_t sum = epochs * sum_of_numbers(count);
  return {{sum, sum}, epochs * count};
}

Sums sums_of(Model& model) {
  Sums sums;
  for (const Tensor& weight : model.get_weights()) {
    const std::vector<float> values = weight.to_vector<float>();
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    sums.weights.push_back(*least == *most ? static_cast<std::int64_t>(*least) : -1);
  }
  sums.iterations = read_now(model.optimizer()->iterations()).item<std::int64_t>();
  return sums;
}

Sums fit_sums(const distribute::ParameterServerStrategy& strategy, std::int64_t count, int epochs) {
  auto scope = strategy.scope();
  SummingModel model;
  model.fit(numbers(count), {.epochs = epochs, .verbose = 0});
  return sums_of(model);
}

Sums schedule_sums(const distribute::ParameterServerStrategy& strategy, std::int64_t count) {
  auto scope = strategy.scope();
  SummingModel model;
  model.build({1, 1});
  distribute::ClusterCoordinator coordinator(strategy);
  auto iterator = coordinator.create_per_worker_dataset(numbers(count)).iterator();
  Function step = function([&](Iterator data) {
    auto [x] = data.next<1>();
    GradientTape tape;
    const Tensor loss = -ops::sum(model(x, {.training = true}));
    model.optimizer()->apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });
  for (std::int64_t i = 0; i < count; ++i) coordinator.schedule(step, {iterator});
  coordinator.join();
  return sums_of(model);
}

}  // namespace cohort::test
