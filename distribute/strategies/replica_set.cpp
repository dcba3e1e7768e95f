#include "cohort/distribute/strategies/replica_set.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/core/step_draws.h"
#include "cohort/core/thread_pool.h"
#include "cohort/core/thread_share.h"
#include "cohort/distribute/collective/reduction_at_one_replica.h"
#include "cohort/distribute/collective/replica_turns.h"
#include "cohort/distribute/collective/run_in_step.h"
#include "cohort/graph/bound_captures.h"

namespace cohort::distribute {
namespace {

// The replicas whose work a thread does.
using WorksFor = ThreadScope<ReplicaSet, const ReplicaSet*>;

std::vector<Device*> with_keeper(std::vector<Device*> devices, Device* keeper) {
  if (keeper) devices.push_back(keeper);
  return devices;
}

}  // namespace

ReplicaSet::ReplicaSet(std::vector<Device*> devices, std::shared_ptr<collective::Communicator> workers,
                       const ReplicaSetOptions& options)
    : size_(static_cast<int>(devices.size())),
      devices_(with_keeper(std::move(devices), options.keeper)),
      threads_of_replica_(options.threads),
      group_(size_, workers, options.group),
      loss_share_(variable_of_each("loss_share", Tensor::full({}, 1.0, DType::Float32, home()))),
      shares_(static_cast<std::size_t>(size_), 1.0f),
      variables_(devices_, options.keeper != nullptr),
      merge_(group_, variables_, devices_, home()),
      threads_(participants() - 1) {
  for (int i = 0; i < size(); ++i) collectives_.push_back(Tensor::of_resource(group_.member(i)));
  groups_.push_back(&group_);
  if (options.keeper) {
    const auto at_keeper = std::make_shared<ReductionAtOneReplica>(size(), size());
    with_keeper_ = std::make_unique<ReplicaGroup>(participants(), nullptr, ReplicaGroup::Options{at_keeper});
    groups_.push_back(with_keeper_.get());
    central_calls_ = std::make_unique<CentralCalls>(size(), *with_keeper_);
    with_keeper_->set_silent(size(), true);
    for (int i = 0; i < participants(); ++i) {
      collectives_with_keeper_.push_back(Tensor::of_resource(with_keeper_->member(i)));
    }
  }
  const int rank = workers ? workers->rank() : 0, ranks = workers ? workers->size() : 1;
  for (int i = 0; i < size(); ++i) {
    contexts_.emplace_back(rank * size() + i, ranks * size(), collectives_[0], loss_share_, options.bytes_per_pack,
                           &merge_, i);
  }
}

ReplicaSet::~ReplicaSet() = default;

const ReplicaContext& ReplicaSet::context(int replica) const { return contexts_[static_cast<std::size_t>(replica)]; }

const CentralStep* ReplicaSet::central_step(const TracedGraph& step) {
  return with_keeper_ ? &central_steps_.of(step) : nullptr;
}

std::optional<Tensors> ReplicaSet::call(int replica, const TracedGraph& function, const Tensors& arguments) {
  const bool meets = std::any_of(function.captures.begin(), function.captures.end(), [&](const Tensor& capture) {
    return capture.resource() == collectives_[0].resource();
  });
  if (!with_keeper_ || !meets) return std::nullopt;
  const CentralStep& step = central_steps_.of(function);
  const auto is_argument = [&](int input) { return input < function.num_arguments; };
  if (!step.is_split || std::any_of(step.update.inputs.begin(), step.update.inputs.end(), is_argument)) {
    return std::nullopt;
  }
  const auto inputs_of = [&](const CentralPart& part, int participant) {
    Tensors inputs;
    for (const int input : part.inputs) {
      const auto i = static_cast<std::size_t>(input);
      inputs.push_back(is_argument(input)
                           ? arguments[i].to(device(participant))
                           : bind(function.captures[i - arguments.size()], participant, false, /*with_keeper=*/true));
    }
    return inputs;
  };
  const RandomState random{.seed = global_seed(), .step = next_draw_seed()};
  const auto run_part = [this, random](const CentralPart& part, const Tensors& inputs, int participant) {
    Tensors outputs(part.executables->graph()->outputs.size());
    part.executables->run(inputs, outputs, random, device(participant));
    return outputs;
  };
  // What their code has written by itself is there for the keeper, and what the keeper writes for their code.
  merge_.meet(replica);
  if (replica == 0) {
    variables_.settle();
    central_calls_->give([run_part, &step, inputs = inputs_of(step.update, size()), keeper = size()] {
      run_part(step.update, inputs, keeper);
    });
  }
  Tensors outputs;
  {
    const Tensors inputs = inputs_of(step.compute, replica);
    const ReplicaPause others_go_on;
    outputs = run_part(step.compute, inputs, replica);
  }
  merge_.meet(replica);
  if (replica == 0) {
    central_calls_->await();
    variables_.spread();
  }
  merge_.meet(replica);
  return outputs;
}

const Tensor& ReplicaSet::bind(const Tensor& capture, int replica, bool reads_whole, bool with_keeper) {
  if (capture.resource() == collectives_[0].resource()) {
    return (with_keeper ? collectives_with_keeper_ : collectives_)[static_cast<std::size_t>(replica)];
  }
  const bool differs = capture.resource() == loss_share_.body() || capture.resource() == merge_.is_first().body();
  return variables_.copy_of(capture, replica, reads_whole && !differs);
}

void ReplicaSet::set_loss_shares(const std::vector<std::int64_t>& rows, std::int64_t all) {
  for (int replica = 0; replica < size(); ++replica) {
    float& known = shares_[static_cast<std::size_t>(replica)];
    const std::int64_t own = rows[static_cast<std::size_t>(replica)];
    const float share = all == 0 ? 0.0f : static_cast<float>(static_cast<double>(own) / static_cast<double>(all));
    if (known == share) continue;
    const Tensor& handle = variables_.copy_of(loss_share_.handle(), replica);
    ReplicaVariables::set_value(dynamic_cast<LocalVariable&>(*handle.resource()),
                                Tensor::full({}, share, DType::Float32, device(replica)), device(replica));
    known = share;
  }
}

void ReplicaSet::set_silent(const std::vector<std::int64_t>& rows) {
  const auto is_idle = [&](int replica) { return rows[static_cast<std::size_t>(replica)] == 0; };
  bool same = true;
  for (int replica = 0; replica < size(); ++replica) same = same && group_.is_silent(replica) == is_idle(replica);
  if (same) return;
  // Reductions of steps before, which devices may have still to do, heed it when they are done.
  for (Device* device : devices_) device->synchronize();
  for (ReplicaGroup* group : groups_) {
    for (int replica = 0; replica < size(); ++replica) group->set_silent(replica, is_idle(replica));
  }
}

void ReplicaSet::run(const std::vector<std::int64_t>& rows, bool meets, const std::function<void(int replica)>& work,
                     std::optional<std::int64_t> all_rows) {
  run_among(meets ? participants() : size(), rows, meets, work, all_rows);
}

void ReplicaSet::run_among(int participants, const std::vector<std::int64_t>& rows, bool meets,
                           const std::function<void(int replica)>& work, std::optional<std::int64_t> all_rows) {
  if (WorksFor::current() == this) {
    throw failed_precondition("Replicas in step", "a replica's code cannot run code on all replicas", {},
                              "Call run() and fit() outside of strategy.run() and merge_call().");
  }
  if (current_trace() != 0) {
    throw failed_precondition("Replicas in step", "code that is traced cannot run code on all replicas", {},
                              "Give strategy.run() the function instead, and call it outside of a model's steps.");
  }
  std::lock_guard one_caller(callers_);
  if (central_calls_) central_calls_->begin();
  set_loss_shares(rows, all_rows ? *all_rows : std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  set_silent(rows);
  variables_.spread();
  const int threads = threads_of_replica();
  run_in_step(threads_, groups_, participants, [&](int replica) {
    const WorksFor these(this);
    const ThreadShare share(threads);
    if (replica == size() || rows[static_cast<std::size_t>(replica)] > 0) return work(replica);
    if (!meets) return;
    const auto sums = variables_.own_sums(replica);
    work(replica);
    variables_.restore_sums(replica, sums);
  });
  variables_.settle();
}

void ReplicaSet::finish(const std::function<void(int replica)>& work) {
  const int threads = threads_of_replica();
  run_in_step(threads_, groups_, size(), [&](int replica) {
    const ThreadShare share(threads);
    work(replica);
  });
  variables_.settle();
}

namespace {

// What a replica's thread is while its code runs line by line.
class ReplicaThread : private CaptureBinder {
 public:
  ReplicaThread(ReplicaSet& set, int replica)
      : set_(set), replica_(replica), binding_(this), context_(&set.context(replica)), device_(&set.device(replica)) {}

 private:
  const Tensor& bind(const Tensor& capture) const override { return set_.bind(capture, replica_); }
  std::optional<Tensors> call(const TracedGraph& function, const Tensors& arguments) const override {
    return set_.call(replica_, function, arguments);
  }
  void compute(const std::function<void()>& run) const override {
    const ReplicaPause others_go_on;
    run();
  }

  ReplicaSet& set_;
  const int replica_;
  const CaptureBinding binding_;
  const ReplicaScope context_;
  const DefaultDeviceScope device_;
};

}  // namespace

// One replica at a time: what they share (layers, optimizers, metrics) is not made for several threads.
void ReplicaSet::run_code(const std::vector<std::int64_t>& rows, const std::function<void(int replica)>& code,
                          std::optional<std::int64_t> all_rows) {
  ReplicaTurns turns;
  const auto in_turn = [&](int replica) {
    if (replica == size()) return central_calls_->serve();
    const CentralCaller caller(central_calls_.get());
    const ReplicaTurn turn(turns, replica);
    const ReplicaThread thread(*this, replica);
    code(replica);
  };
  run_among(participants(), rows, true, in_turn, all_rows);
}

// Replicas on the host that keep to cores of their own do not wait for one another's.
int ReplicaSet::threads_of_replica() const {
  if (size() == 1 || !device(0).host_readable()) return threads_of_replica_;
  const int all = threads_of_replica_ > 0 ? threads_of_replica_ : ThreadPool::instance().threads();
  return std::max(1, all / size());
}

}  // namespace cohort::distribute
