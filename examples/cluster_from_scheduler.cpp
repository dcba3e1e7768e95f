// One program as every task of a cluster that a scheduler has started: who else is there, and which task this is, comes
// from Slurm, from Kubernetes, or from TF_CONFIG. examples/deploy has what starts it.
//   srun --ntasks 4 cluster_from_scheduler --resolver slurm --workers 2 --ps 1
//   cluster_from_scheduler --resolver kubernetes             in pods with the labels app=train and role=chief, worker
//   or ps TF_CONFIG=... cluster_from_scheduler
#include <cohort/cohort.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace ch = cohort;
namespace dist = cohort::distribute;

namespace {

struct Arguments {
  std::string resolver = "tf_config";
  int workers = 2, ps = 1, port = 8888;
};

std::unique_ptr<dist::ClusterResolver> make_resolver(const Arguments& arguments) {
  if (arguments.resolver == "slurm") {
    return std::make_unique<dist::SlurmClusterResolver>(dist::SlurmClusterResolverOptions{
        .jobs = {{"chief", 1}, {"ps", arguments.ps}, {"worker", arguments.workers}}, .port_base = arguments.port});
  }
  if (arguments.resolver == "kubernetes") {
    return std::make_unique<dist::KubernetesClusterResolver>(dist::KubernetesClusterResolverOptions{
        .job_to_label_mapping = {{"chief", {"app=train,role=chief"}},
                                 {"ps", {"app=train,role=ps"}},
                                 {"worker", {"app=train,role=worker"}}},
        .tf_server_port = arguments.port,
        .num_tasks = {{"chief", 1}, {"ps", arguments.ps}, {"worker", arguments.workers}},
        .use_host_names = true,
        .start_timeout = 300});
  }
  return std::make_unique<dist::TFConfigClusterResolver>();
}

void train(const dist::ParameterServerStrategy& strategy) {
  auto scope = strategy.scope();
  ch::Sequential model({ch::layers::Dense(16, {.activation = "relu"}), ch::layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 5});
  const auto make_dataset = [](const ch::InputContext& context) {
    const ch::Tensor x = ch::ops::reshape(ch::ops::arange(0, 512, 1, ch::DType::Float32), {256, 2}) / 512.0;
    return ch::datasets::from_tensor_slices(x, ch::ops::sum(x, 1, ch::ops::keep_dims))
        .shard(context.num_input_pipelines, context.input_pipeline_id)
        .repeat()
        .batch(32);
  };
  const ch::History history =
      model.fit(ch::DatasetCreator(make_dataset), {.epochs = 3, .verbose = 2, .steps_per_epoch = 40});
  std::printf("The loss went from %.4f to %.4f.\n", history["loss"].front(), history["loss"].back());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A cluster that a scheduler has started");
  Arguments arguments;
  app.add_option("--resolver", arguments.resolver, "who says what the cluster is")
      ->check(CLI::IsMember({"tf_config", "slurm", "kubernetes"}));
  app.add_option("--workers", arguments.workers, "how many there are");
  app.add_option("--ps", arguments.ps, "how many parameter servers there are");
  app.add_option("--port", arguments.port, "the first port of a machine");
  CLI11_PARSE(app, argc, argv);

  const std::unique_ptr<dist::ClusterResolver> resolver = make_resolver(arguments);
  if (resolver->task_type() == "worker" || resolver->task_type() == "ps") return dist::Server(*resolver).join();
  train(dist::ParameterServerStrategy(*resolver));
}
