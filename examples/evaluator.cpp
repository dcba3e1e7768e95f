// An evaluator beside a training on a cluster: it evaluates every checkpoint, keeps the best model, logs for
// TensorBoard, and stops the training once that no longer helps. The chief never waits for it. Usage: cohort launch
// --workers 2 --ps 1 --evaluator -- evaluator [--smoke]
#include <cohort/cohort.h>

#include <memory>
#include <string>
#include <vector>

#include "example_data.h"

namespace ch = cohort;
namespace dist = cohort::distribute;

namespace {

// The chief's and the evaluator's alike.
std::unique_ptr<ch::Model> make_model() {
  auto model = std::make_unique<ch::Sequential>(std::vector<ch::Ref<ch::Layer>>{
      ch::layers::Rescaling(1.0 / 255),
      ch::layers::Flatten(),
      ch::layers::Dense(128, {.activation = "relu"}),
      ch::layers::Dense(10),
  });
  model->compile({.optimizer = "adam",
                  .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"}});
  return model;
}

}  // namespace

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  const dist::TFConfigClusterResolver resolver;
  if (resolver.task_type() == "worker" || resolver.task_type() == "ps") return dist::Server(resolver).join();
  const auto [train, test] = example::images(smoke);

  if (resolver.task_type() == "evaluator") {
    const auto model = make_model();
    dist::SidecarEvaluator evaluator(
        *model, test.batch(256), "ckpt",
        {.callbacks = {ch::callbacks::SidecarEvaluatorModelExport("best.keras", {.monitor = "accuracy"}),
                       ch::callbacks::SidecarEvaluatorEarlyStopping({.monitor = "loss", .patience = 3})},
         .log_dir = "logs",
         .poll_interval = 0.2});
    evaluator.start();
    return 0;
  }
  const dist::ParameterServerStrategy strategy(resolver);
  auto scope = strategy.scope();
  const auto model = make_model();
  model->fit(train.shuffle(60000).batch(64),
             {.epochs = smoke ? 3 : 20,
              .callbacks = {ch::callbacks::ModelCheckpoint("ckpt/ckpt-{epoch}.weights.h5", {.save_weights_only = true}),
                            ch::callbacks::StopFromEvaluator("ckpt")}});
}
