// One pipeline leased over the workers: whichever worker runs a closure takes the next element, so all five are seen
// once. The same function without a cluster gives the same sum.
#include <cohort/cohort.h>

#include <iostream>

namespace ch = cohort;
namespace dist = cohort::distribute;

namespace {

const ch::Dataset one_to_five = ch::datasets::range(1, 6);

ch::Function add_next_to(ch::Variable& total) {
  return ch::function([&total](ch::Iterator numbers) {
    const auto [number] = numbers.next<1>();
    total.assign_add(number);
    return number;
  });
}

std::int64_t sum_here() {
  ch::Variable total(ch::Tensor::scalar(0, ch::DType::Int64), {.name = "total", .dtype = ch::DType::Int64});
  const ch::Function add = add_next_to(total);
  const ch::Iterator numbers = one_to_five.iterator();
  for (int i = 0; i < 5; ++i) add(numbers);
  return total.value().item<std::int64_t>();
}

std::int64_t sum_on_cluster() {
  const dist::LocalCluster cluster({{"worker", 3}, {"ps", 1}});
  dist::ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  ch::Variable total(ch::Tensor::scalar(0, ch::DType::Int64), {.name = "total", .dtype = ch::DType::Int64});
  const ch::Function add = add_next_to(total);

  dist::ClusterCoordinator coordinator(strategy);
  const dist::PerWorkerValues numbers = coordinator.create_per_worker_dataset(one_to_five).iterator();
  std::vector<dist::RemoteValue> seen;
  for (int i = 0; i < 5; ++i) seen.push_back(coordinator.schedule(add, {numbers}));
  coordinator.join();
  for (const dist::RemoteValue& value : seen) {
    std::cout << "a worker took " << ch::Tensor(value.fetch()).item<std::int64_t>() << "\n";
  }
  return total.value().item<std::int64_t>();
}

}  // namespace

int main() {
  const std::int64_t here = sum_here(), on_cluster = sum_on_cluster();
  std::cout << "here: " << here << "\n"
            << "on three workers: " << on_cluster << "\n";
}
