#include "cohort/distribute/worker/parameter_server.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>

#include "cohort/core/timeline.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/graph/partition.h"
#include "cohort/graph/write_effects.h"

namespace cohort::distribute {
namespace {

// How long something takes, where it is looked at: every 16th time.
class SampledTime {
 public:
  explicit SampledTime(std::uint64_t number) : sampled_(number % 16 == 0) {
    if (sampled_) begin_ = Clock::now();
  }
  void end(TaskCounter& nanoseconds) const {
    if (!sampled_) return;
    nanoseconds.follow(static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - begin_).count()));
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool sampled_;
  Clock::time_point begin_;
};

// Values of variables share their memory, which nobody writes to while they are here.
void bring_to_host(Tensors& values) {
  for (Tensor& value : values) {
    if (value.defined()) value = value.to_host();
  }
}

}  // namespace

std::shared_ptr<StoredVariable> ParameterServer::find_variable(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    throw not_found("Server", "a variable of this task is expected", {{"variable", name}});
  }
  return found->second;
}

template <class Names>
StoredVariables ParameterServer::find_variables(const Names& names) const {
  StoredVariables found;
  for (const std::string& name : names) found.push_back(find_variable(name));
  return found;
}

std::shared_ptr<ServerFunction> ParameterServer::find_function(std::uint64_t handle) const {
  const auto found = functions_.find(handle);
  if (found == functions_.end()) {
    throw not_found("Server", "a function that was registered on this task is expected", {{"function", handle}});
  }
  return found->second;
}

bool ParameterServer::is_known(const std::string& name, const TensorSpec& spec) const {
  const auto known = variables_.find(name);
  if (known == variables_.end()) return false;
  const TensorSpec& there = known->second->body->spec();
  if (there != spec) {
    throw invalid_argument("Server", "a variable that is there already must have the type and shape asked for",
                           {{"variable", name}, {"shape", there.shape}, {"dtype", there.dtype}, {"asked", spec}});
  }
  return true;
}

void ParameterServer::create_variable(const Request<Method::CreateVariable>& request,
                                      Reply<Method::CreateVariable>& reply) {
  const proto::CreateVariableProto& from = request.metadata;
  const TensorSpec spec = read_spec(from.spec());
  const std::uint64_t bytes = bytes_of_variable(from.name(), spec);
  const auto graph = parse_graph(from.initial(), constants_.take(from.constants(), request.parts).table);
  if (!graph->inputs.empty() || graph->outputs.size() != 1) {
    throw invalid_argument("Server", "an initial value is a graph without inputs and with one output",
                           {{"variable", from.name()}});
  }
  Lock lock(mutex_);
  if (!is_known(from.name(), spec)) {
    std::shared_ptr<void> memory = memory_->reserve(from.name(), bytes);
    lock.unlock();
    Tensors value(1);
    std::shared_ptr<LocalVariable> body;
    try {
      ExecutableCache(graph).run({}, value, {.seed = from.seed()}, cpu());
      if (value[0].spec() != spec) {
        throw invalid_argument("Server", "an initial value must have its variable's type and shape",
                               {{"variable", from.name()}, {"value", value[0].spec()}, {"variable.spec", spec}});
      }
      body = std::make_shared<LocalVariable>(std::move(value[0]),
                                             VariableOptions{.name = from.name(), .dtype = spec.dtype});
    } catch (const std::bad_alloc&) {
      throw no_memory_for(from.name(), bytes);
    }
    lock.lock();
    // A repeat of the message may have been faster.
    if (!is_known(from.name(), spec)) {
      variables_.emplace(from.name(),
                         std::make_shared<StoredVariable>(std::move(body), version_ + 1, std::move(memory)));
      ++version_;
    }
  }
  reply.head.version = version_;
}

void ParameterServer::register_function(const Request<Method::RegisterServer>& request,
                                        Reply<Method::RegisterServer>& reply) {
  const proto::RegisterServerProto& from = request.metadata;
  const auto function = std::make_shared<ServerFunction>();
  function->constants = constants_.take(from.constants(), request.parts);
  const ConstantTable& constants = function->constants.table;
  Lock lock(mutex_);
  function->pulled = SentVariables(find_variables(from.pulled()));
  for (const proto::ServerPartProto& part : from.parts()) {
    if (part.round() >= AppliedBundles::kMostRounds) {
      throw invalid_argument("Server", "a function has at most 64 rounds", {{"round", part.round()}});
    }
    if (function->rounds.size() <= part.round()) function->rounds.resize(part.round() + 1);
    StoredVariables variables = find_variables(part.resources()), fresh = find_variables(part.fresh());
    lock.unlock();
    function->rounds[part.round()] =
        std::make_unique<ServerPart>(parse_graph(part.graph(), constants), std::move(variables), std::move(fresh));
    lock.lock();
  }
  functions_.insert_or_assign(request.head.function, function);
  reply.head.version = version_;
}

void ParameterServer::fence(const Request<Method::Fence>& request, Reply<Method::Fence>&) {
  Lock lock(mutex_);
  fenced_ = std::max(fenced_, request.head.epoch);
  const auto is_over = [&](std::uint64_t epoch) { return epoch < request.head.epoch; };
  // Not for later ones, which may follow each other for ever.
  applied_one_.wait(lock, [&] { return std::none_of(applying_.begin(), applying_.end(), is_over); });
}

void ParameterServer::check_epoch(const Head& head) const {
  if (head.epoch >= fenced_) return;
  throw Error(ErrorCode::Cancelled, "Server", "an exchange of the present epoch is expected",
              {{"epoch", head.epoch}, {"present", fenced_}, {"closure", head.closure}});
}

void ParameterServer::exchange(const Request<Method::Exchange>& request, Reply<Method::Exchange>& reply) {
  const Head& head = request.head;
  reply.parts.clear();
  Lock lock(mutex_);
  check_epoch(head);
  const std::shared_ptr<ServerFunction> function = find_function(head.function);
  applied_.forget_below(head.all_done_below);
  if (head.flags & kPull && head.flags & kVersion) {
    reply.head.version = version_;
  } else if (head.flags & kPull) {
    pull(function->pulled, request, reply, lock);
  } else if (head.round >= function->rounds.size() || !function->rounds[head.round]) {
    throw invalid_argument("Server", "a round of the function is expected",
                           {{"round", head.round}, {"rounds", function->rounds.size()}});
  } else {
    push(*function->rounds[head.round], request, reply, lock);
  }
  lock.unlock();
  bring_to_host(reply.parts);
}

void ParameterServer::has_applied(const Head& head) {
  applying_.erase(std::find(applying_.begin(), applying_.end(), head.epoch));
  applied_one_.notify_all();
}

void ParameterServer::pull(const SentVariables& pulled, const Request<Method::Exchange>& request,
                           Reply<Method::Exchange>& reply, Lock& lock) {
  const TimelineSpan span("cluster", "send values", -1, request.head.closure);
  std::optional<Reservation> reservation;
  if (!Reservation::are_free(pulled.reserved())) reservation.emplace(lock, pulled.reserved());
  pulled.append_newer(request.head.version, reply.parts);
  // No write to what is reserved is under way: a value is that of the newest version, whenever it was written.
  reply.head.version = version_;
}

void ParameterServer::push(ServerPart& part, const Request<Method::Exchange>& request, Reply<Method::Exchange>& reply,
                           Lock& lock) {
  const Head& head = request.head;
  // What is over before another thread would have woken up is done at once; nobody then waits for his turn to come.
  const bool at_once = part.is_small() && Reservation::are_free(part.reserved());
  const TimelineSpan span("cluster", "exchange", static_cast<std::int64_t>(head.step), head.closure);
  std::optional<Reservation> reservation;
  if (!at_once) reservation.emplace(lock, part.reserved());
  // Asked when it is its turn: a fence may have come, and a bundle that is being applied may still fail.
  check_epoch(head);
  applying_.reserve(applying_.size() + 1);  // what may fail comes before the note that it was applied
  const bool is_new = part.writes() && applied_.insert(head.closure, head.step, head.round);
  applying_.push_back(head.epoch);
  const SampledTime time(bundles_.get());
  if (!at_once) lock.unlock();
  try {
    const TimelineSpan applying("compute", "apply", static_cast<std::int64_t>(head.step));
    if (is_new || !part.writes()) {
      part.apply(request.parts, reply.parts);
    } else {
      part.repeat(request.parts, reply.parts);
    }
  } catch (...) {
    if (!at_once) lock.lock();
    if (is_new) applied_.erase(head.closure, head.step, head.round);
    has_applied(head);
    throw;
  }
  if (!at_once) lock.lock();
  has_applied(head);
  time.end(apply_nanoseconds_);
  bundles_.add_alone(1);
  if (is_new) part.mark_written(++version_);
  part.fresh().append_newer(head.version, reply.parts);
  reply.head.version = version_;
}

void ParameterServer::describe(proto::TaskStatusProto& status) const {
  status.set_variable_bytes(memory_->used());
  status.set_bundles(status.bundles() + bundles_.get());
  if (bundles_.get() > 0) status.set_step_nanoseconds(apply_nanoseconds_.get());
}

void ParameterServer::release(const proto::ReleaseProto& releases) {
  // Let go of without the lock; who is applying a bundle of a function has it, and it its variables, until then.
  std::vector<std::shared_ptr<ServerFunction>> functions;
  StoredVariables variables;
  Lock lock(mutex_);
  for (const std::uint64_t handle : releases.functions()) {
    if (auto released = functions_.extract(handle)) functions.push_back(std::move(released.mapped()));
  }
  for (const std::string& name : releases.variables()) {
    if (auto released = variables_.extract(name)) variables.push_back(std::move(released.mapped()));
  }
}

void ParameterServer::run_graph(const Request<Method::RunGraph>& request, Reply<Method::RunGraph>& reply) {
  const proto::RunGraphProto& from = request.metadata;
  const HeldConstants constants = constants_.take(from.constants(), request.parts);
  std::size_t part = constants.attached;
  std::shared_ptr<const Graph> graph = parse_graph(from.graph(), constants.table);
  if (static_cast<std::size_t>(from.inputs_size()) != graph->inputs.size()) {
    throw invalid_argument("Server", "a graph must be given its inputs",
                           {{"inputs", from.inputs_size()}, {"expected", graph->inputs.size()}});
  }
  Lock lock(mutex_);
  Tensors inputs;
  StoredVariables variables;  // by input; null where it is a tensor
  for (const std::string& name : from.inputs()) {
    variables.push_back(name.empty() ? nullptr : find_variable(name));
    if (variables.back()) {
      inputs.push_back(variables.back()->handle);
    } else if (part < request.parts.size()) {
      inputs.push_back(request.parts[part++].to(cpu()));
    } else {
      throw invalid_argument("Server", "a graph must be given its inputs", {{"parts", request.parts.size()}});
    }
  }
  const std::vector<int> written = written_inputs(*graph);
  std::vector<Reservable*> reserved;
  for (const auto& variable : variables) {
    const bool again = std::find(reserved.begin(), reserved.end(), variable.get()) != reserved.end();
    if (variable && !again) reserved.push_back(variable.get());
  }
  const Reservation reservation(lock, reserved);
  // The chief's own writes come one after the other, so a repeat is the newest one.
  const bool writes = from.writes() || !written.empty(), repeated = writes && request.head.closure <= last_run_;
  lock.unlock();
  if (repeated) graph = std::make_shared<Graph>(without_writes(*graph));
  reply.parts.resize(graph->outputs.size());
  ExecutableCache(graph).run(inputs, reply.parts, {.seed = from.seed()}, cpu());
  bring_to_host(reply.parts);
  lock.lock();
  if (writes && !repeated) {
    last_run_ = std::max(last_run_, request.head.closure);
    ++version_;
    for (int position : written) {
      if (const auto& variable = variables[static_cast<std::size_t>(position)]) variable->written = version_;
    }
  }
  reply.head.version = version_;
}

}  // namespace cohort::distribute
