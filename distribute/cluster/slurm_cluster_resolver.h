#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

// What a SlurmClusterResolver makes of Slurm's tasks.
struct SlurmClusterResolverOptions {
  // How many tasks each job has: Slurm's ranks go to the jobs in the order of their names, so that rank 0 is the chief
  // where there is one. Empty: all of them are workers.
  std::map<std::string, std::int64_t> jobs = {};
  // The port of the first task of a node; each further one there has the next.
  int port_base = 8888;
  // GPUs of a node; none: as many as SLURM_GPUS_ON_NODE says, or else without any.
  std::optional<std::int64_t> gpus_per_node = std::nullopt;
  // GPUs of a task; none: a node's, divided among the tasks of the fullest node.
  std::optional<std::int64_t> gpus_per_task = std::nullopt;
  // Tasks on each node; none: as Slurm says, node by node.
  std::optional<std::int64_t> tasks_per_node = std::nullopt;
  // Whether CUDA_VISIBLE_DEVICES is set to this task's GPUs, unless Slurm has left it fewer than its node has.
  bool auto_set_gpu = true;
  // The protocol in front of addresses.
  std::string rpc_layer = "grpc";
};

// Reads what srun tells a task: which hosts there are (SLURM_STEP_NODELIST), how many tasks on each
// (SLURM_STEP_TASKS_PER_NODE) in which order (SLURM_DISTRIBUTION: block, cyclic or plane), and which of them this is
// (SLURM_PROCID). Outside of a step the variables of the job stand in (SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE).
class SlurmClusterResolver : public ClusterResolver {
 public:
  // Reads the environment, and sets CUDA_VISIBLE_DEVICES where there are GPUs: make it before anything uses one, and
  // before there are other threads. Throws FailedPrecondition outside of Slurm, InvalidArgument when jobs and tasks do
  // not fit.
  explicit SlurmClusterResolver(SlurmClusterResolverOptions options = {});
  ClusterSpec cluster_spec() const override { return spec_; }
  std::string task_type() const override { return task_type_; }
  std::int64_t task_id() const override { return task_id_; }
  std::string rpc_layer() const override { return rpc_layer_; }

 private:
  ClusterSpec spec_;
  std::string task_type_;
  std::int64_t task_id_ = 0;
  std::string rpc_layer_;
};

}  // namespace cohort::distribute
