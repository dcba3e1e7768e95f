#include "cohort/distribute/strategies/multi_worker_mirrored_strategy.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "cohort/core/cpu_count.h"
#include "cohort/core/log.h"
#include "cohort/core/random.h"
#include "cohort/core/text.h"
#include "cohort/core/thread_pool.h"
#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/cluster/transport_choice.h"
#include "cohort/distribute/collective/batch_rows.h"
#include "cohort/distribute/collective/replica_devices.h"
#include "cohort/distribute/strategies/communication.h"
#include "cohort/distribute/strategies/mirrored_strategy.h"
#include "cohort/distribute/strategies/multi_worker_runner.h"
#include "cohort/distribute/strategies/variables_on_device.h"
#include "cohort/distribute/strategies/worker_agreement.h"
#include "cohort/distribute/strategies/worker_variables.h"

namespace cohort::distribute {
namespace {

constexpr const char* kMultiWorker = "MultiWorkerMirroredStrategy";
constexpr std::int64_t kBytesPerPack = 1 << 20;

class MultiWorkerMirrored : public Strategy {
 public:
  MultiWorkerMirrored(std::shared_ptr<collective::Communicator> workers, std::vector<Device*> devices,
                      const ReplicaSetOptions& crossing)
      : workers_(std::move(workers)),
        variables_(*devices[0]),
        replicas_(std::make_shared<ReplicaSet>(std::move(devices), workers_, crossing)) {}

  // What is predicted is needed here, so every worker predicts all of it.
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    if (program->kind() == Program::Kind::Predict) {
      return std::make_unique<LocalRunner>(std::move(program), data, options, replicas_->device(0));
    }
    const WorkerShare share = share_of_worker(data, workers_->size(), workers_->rank(), replicas_->size());
    return std::make_unique<MultiWorkerRunner>(workers_, replicas_, std::move(program), share, options);
  }
  // Every worker is given its own rows of the global batch; what is predicted of them is needed here alone.
  Element run_on_batch(Program& program, const Element& batch, const RandomState& random) override {
    if (program.kind() == Program::Kind::Predict) {
      const DefaultDeviceScope scope(&replicas_->device(0));
      return Strategy::run_on_batch(program, batch, random);
    }
    try {
      run_in_step(program, batch, random);
    } catch (const std::exception& error) {
      workers_->abort(workers_->name() + " left a batch by an exception: " + error.what());
      throw;
    }
    return {};
  }
  int num_replicas_in_sync() const override { return workers_->size() * replicas_->size(); }
  int num_local_replicas() const override { return replicas_->size(); }
  bool is_chief() const override { return workers_->rank() == 0; }
  void run_on_replicas(const std::vector<std::int64_t>& rows, const std::function<void(int replica)>& code) override {
    std::int64_t all = 0;
    for (const std::int64_t own : rows) all += own;
    workers_->all_reduce(&all, 1, DType::Int64);
    replicas_->run_code(rows, code, all);
    replicas_->variables().gather();
  }
  const ReplicaContext* replica_context() const override { return &replicas_->context(0); }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  void run_in_step(Program& program, const Element& batch, const RandomState& random) {
    ReplicaSteps steps(replicas_, program.shared_from_this());
    const Tensors leaves = batch.flatten();
    steps.divide(leaves);
    set_place(steps, rows_of_batch(leaves));
    if (!program.eager()) begin(program, steps.prepare(spec_of(batch)).traced);
    steps.run(spec_of(batch), random);
    replicas_->variables().gather();
    gather_over_workers(*workers_, *replicas_, program.model());
  }
  void set_place(ReplicaSteps& steps, std::int64_t own) const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(workers_->size()));
    workers_->all_gather(&own, rows.data(), 1, DType::Int64);
    const auto here = rows.begin() + workers_->rank();
    steps.set_place(std::accumulate(rows.begin(), here, std::int64_t{0}),
                    std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  }
  // Before the first step of a graph workers see to it that theirs are the same.
  void begin(const Program& program, const TracedGraph& step) {
    if (program.kind() != Program::Kind::Train || begun_.lock() == step.graph) return;
    check_same_manifest(*workers_, manifest_of(step));
    take_first_values(*workers_, *replicas_, variables_of(step));
    begun_ = step.graph;
  }

  std::weak_ptr<const Graph> begun_;
  const std::shared_ptr<collective::Communicator> workers_;
  VariablesOnDevice variables_;
  const std::shared_ptr<ReplicaSet> replicas_;
};

// The chief first, then the workers.
std::vector<ClusterTask> tasks_in_step(const ClusterSpec& spec) {
  std::vector<ClusterTask> tasks;
  for (const std::string_view job : {kChief, kWorker}) {
    if (!spec.has_job(job)) continue;
    for (const std::int64_t index : spec.task_indices(job)) {
      tasks.push_back({std::string(job), index, spec.task_address(job, index)});
    }
  }
  return tasks;
}

int rank_of(const std::vector<ClusterTask>& tasks, const ClusterResolver& resolver) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].job == resolver.task_type() && tasks[i].index == resolver.task_id()) return static_cast<int>(i);
  }
  throw invalid_argument(kMultiWorker, "this process must be the chief or a worker of the cluster",
                         {{"task", task_name(resolver.task_type(), resolver.task_id())}},
                         "Set the task's type and index in TF_CONFIG, or give the resolver both.");
}

void check_communication_options(const CommunicationOptions& options) {
  if (options.bytes_per_pack < 0) {
    throw invalid_argument(kMultiWorker, "bytes_per_pack must not be negative",
                           {{"bytes_per_pack", options.bytes_per_pack}}, "0 leaves the choice to the strategy.");
  }
  distribute::check_transport(kMultiWorker, options.transport);
}

std::vector<Device*> devices_of(const CommunicationOptions& options) {
  check_communication_options(options);
  std::vector<Device*> devices;
  for (const std::string& name : options.devices) {
    Device* device = &device_named(name);
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      throw invalid_argument(kMultiWorker, "each device may be listed once", {{"devices", join(options.devices)}},
                             "A device computes for one replica.");
    }
    devices.push_back(device);
  }
  if (devices.empty()) devices.push_back(&default_device());
  check_communication(options.implementation, devices);
  return devices;
}

std::chrono::milliseconds from_seconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

// How gradients cross, where as many workers as share this host's memory, or address, also share its cores.
ReplicaSetOptions crossing_of(const collective::Communicator& workers, const std::vector<std::string>& addresses,
                              std::int64_t bytes_per_pack, const Communication& communication) {
  int here = 1;
  bool over_network = false;
  for (int rank = 0; rank < workers.size(); ++rank) {
    if (rank == workers.rank()) continue;
    const bool shared = std::string_view(workers.transport(rank)) == "shared memory";
    const auto host = [&](int each) { return host_of(addresses[static_cast<std::size_t>(each)]); };
    if (shared || host(rank) == host(workers.rank())) ++here;
    over_network = over_network || !shared;
  }
  ReplicaSetOptions crossing{.group = communication.group};
  int threads = ThreadPool::instance().threads();
  const bool given = threads != usable_cpus();  // another number was asked for
  if (here > 1 && !given) crossing.threads = threads = usable_cpus_of_each(here);
  // A thread that takes the only core from what it is to run beside brings nothing.
  crossing.group.has_thread = over_network || threads > 1 || usable_cpus() > here;
  const std::int64_t default_bytes = crossing.group.join_devices ? kBytesPerPackOfDevices : kBytesPerPack;
  crossing.bytes_per_pack = bytes_per_pack > 0 ? bytes_per_pack : default_bytes;
  return crossing;
}

// From here on all workers draw the same initial values and orders.
void agree_on_seed(collective::Communicator& workers) {
  std::int64_t seed = static_cast<std::int64_t>(global_seed());
  workers.broadcast(&seed, 1, DType::Int64);
  set_random_seed(static_cast<std::uint64_t>(seed));
}

std::shared_ptr<Strategy> make_multi_worker(const ClusterResolver& resolver, const CommunicationOptions& options) {
  std::vector<Device*> devices = devices_of(options);
  const ClusterSpec spec = resolver.cluster_spec();
  // An evaluator runs the same program beside the workers, which neither wait for it nor hear of it.
  if (spec.empty() || resolver.task_type() == kEvaluator) return MirroredStrategy(options.devices).body();
  check_roles(spec, kMultiWorker);
  const std::vector<ClusterTask> tasks = tasks_in_step(spec);
  const int rank = rank_of(tasks, resolver);
  collective::CommunicatorSetUp set_up{.addresses = {}, .rank = rank, .names = {}, .listens_at = options.address};
  for (const ClusterTask& task : tasks) {
    set_up.addresses.push_back(task.address);
    set_up.names.push_back(task.name());
  }
  set_up.options.transport = options.transport;
  set_up.options.security = make_security(options.security, tasks[static_cast<std::size_t>(rank)].name());
  set_up.options.start_timeout = from_seconds(options.start_timeout);
  set_up.options.dead_after = from_seconds(options.dead_after);
  if (options.timeout_seconds) set_up.options.timeout = from_seconds(*options.timeout_seconds);
  std::shared_ptr<collective::Communicator> workers = collective::make_communicator(set_up);
  check_same_values(*workers, {{"number of devices", static_cast<std::int64_t>(devices.size()),
                                "List as many in options.devices of each worker."}});
  agree_on_seed(*workers);
  const Communication communication = agree_on_communication(options.implementation, devices, workers, set_up.options);
  log::info(std::string(kMultiWorker) + ": " + std::to_string(workers->size()) + " workers in step by " +
            communication.chosen + "; this is " + tasks[static_cast<std::size_t>(rank)].name() +
            (rank == 0 ? ", which writes files." : "."));
  const ReplicaSetOptions crossing = crossing_of(*workers, set_up.addresses, options.bytes_per_pack, communication);
  return std::make_shared<MultiWorkerMirrored>(std::move(workers), std::move(devices), crossing);
}

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(const ClusterResolver& resolver,
                                                         const CommunicationOptions& options)
    : StrategyHandle(make_multi_worker(resolver, options)) {}

}  // namespace cohort::distribute
