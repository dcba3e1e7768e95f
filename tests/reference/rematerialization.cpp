// Rematerialization: layers that keep only their inputs in training and compute the rest again, with the same results.
#include <cohort/cohort.h>

#include <atomic>
#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

// exp(-x^2) of float32, by a kernel that counts how often it runs. Its gradient needs its result.
std::atomic<int> bumps_computed = 0;

COHORT_OP("rematerialization>Bump")
    .inputs(1)
    .infer([](const ch::OpCall& call) { return ch::same_as(call.spec(0)); })
    .gradient([](const ch::OpCall& call, const ch::Tensor& dy) -> ch::Tensors {
      return {dy * call.output(0) * call.input(0) * -2.0};
    });
ch::KernelFn make_bump(const ch::KernelSpec& spec) {
  return [count = spec.input_size(0)](const ch::KernelIO& io) {
    ++bumps_computed;
    for (std::int64_t i = 0; i < count; ++i) io.out<float>(0)[i] = std::exp(-io.in<float>(0)[i] * io.in<float>(0)[i]);
  };
}
COHORT_KERNEL("rematerialization>Bump", ch::kCPU, make_bump);

class Bump : public ch::Layer {
 public:
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext&) override {
    return ch::run_op("rematerialization>Bump", {x});
  }
};

struct Trained {
  std::vector<double> losses;
  std::vector<ch::Tensor> weights;
  int bumps = 0;
};

// The same training, its layers made under a mode or under none.
Trained train(const std::optional<ch::RematMode>& mode) {
  ch::set_random_seed(24);
  const ch::Tensor x = ops::random_normal({128, 16});
  const ch::Tensor y = ops::sum(ops::square(x), -1, ops::keep_dims);
  std::optional<ch::RematScope> scope;
  if (mode) scope.emplace(*mode);
  ch::Sequential model({ch::make<ch::InputLayer>(ch::Shape{16}),
                        ch::layers::Dense(64, {.activation = "gelu", .name = "wide"}), ch::make<Bump>(),
                        ch::layers::Dropout(0.1), ch::layers::Dense(64, {.activation = "gelu"}), ch::layers::Dense(1)});
  scope.reset();
  check(!ch::RematScope::current(), "outside of a scope there is no mode");
  model.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse"});
  const int before = bumps_computed;
  const ch::History history = model.fit(x, y, {.epochs = 6, .verbose = 0, .shuffle = false});
  return {history["loss"], model.get_weights(), bumps_computed - before};
}

int main() {
  const auto [losses, weights, bumps] = train(std::nullopt);
  check(losses.back() < 0.7 * losses.front(), "it learns");
  const std::vector<ch::RematMode> modes = {
      {}, {.mode = "list_of_layers", .layer_names = {"wide"}}, {.mode = "larger_than", .output_size_threshold = 32}};
  for (const ch::RematMode& mode : modes) {
    const auto [remat_losses, remat_weights, remat_bumps] = train(mode);
    const bool spares_bump = mode.mode != "list_of_layers";  // which names another layer
    check(remat_bumps == (spares_bump ? 2 : 1) * bumps, mode.mode + ": what is not kept is computed again");
    check(std::abs(remat_losses.back() - losses.back()) < 1e-3 * losses.back(),
          mode.mode + ": the losses are the same");
    for (std::size_t i = 0; i < weights.size(); ++i) {
      check(ops::max(ops::abs(weights[i] - remat_weights[i])).item<double>() < 1e-3,
            mode.mode + ": so are the weights");
    }
  }
}
