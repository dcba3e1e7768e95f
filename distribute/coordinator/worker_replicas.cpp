#include "cohort/distribute/coordinator/worker_replicas.h"

#include <memory>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/distribute/collective/summation.h"

namespace cohort::distribute {
namespace {

// That of replicas which have all computed the same.
class EqualReplicas : public Collective {
 public:
  explicit EqualReplicas(int replicas) : Collective("worker_replicas"), replicas_(static_cast<std::size_t>(replicas)) {}
  void all_reduce(std::span<const Part> parts, const void* const* inputs, void* const* outputs,
                  Reduction reduction) override {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::vector<const void*> equal(reduction == Reduction::Sum ? replicas_ : 1, inputs[i]);
      sum_range(parts[i].dtype, equal, {outputs + i, 1}, 0, parts[i].elements);
    }
  }

 private:
  const std::size_t replicas_;
};

class LossShare : public LocalVariable {
 public:
  explicit LossShare(int replicas)
      : LocalVariable(Tensor::full({}, 1.0 / replicas, DType::Float32, cpu()),
                      VariableOptions{.name = "loss_share",
                                      .trainable = false,
                                      .aggregation = Aggregation::OnlyFirstReplica,
                                      .synchronization = Synchronization::OnRead,
                                      .autocast = false}) {}
};

}  // namespace

WorkerReplicas::WorkerReplicas(int replicas)
    : context_(0, replicas, Tensor::of_resource(std::make_shared<EqualReplicas>(replicas)),
               Variable(std::make_shared<LossShare>(replicas))) {}

bool is_worker_collective(const Resource& resource) { return dynamic_cast<const EqualReplicas*>(&resource) != nullptr; }
bool is_worker_loss_share(const Resource& resource) { return dynamic_cast<const LossShare*>(&resource) != nullptr; }

}  // namespace cohort::distribute
