#include "cohort/distribute/worker/session_parts.h"

#include <algorithm>
#include <new>
#include <set>

#include "cohort/core/logical_devices.h"
#include "cohort/core/text.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/worker/constant_bytes.h"
#include "cohort/distribute/worker/constant_store.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/graph/write_effects.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kMostParts = 4096;  // of a session on one task

// Whoever names a device makes it, so only those that are listed may be, and some of type TEST.
Device& listed_device(const std::string& name, const std::string& task) {
  constexpr int kTestDevices = 16;
  const std::vector<LogicalDevice> listed = list_logical_devices();
  bool known = std::any_of(listed.begin(), listed.end(), [&](const LogicalDevice& each) { return each.name == name; });
  for (int i = 0; i < kTestDevices; ++i) known |= name == "TEST:" + std::to_string(i);
  if (known) return device_named(name);
  throw invalid_argument(task, "a device of this task is expected",
                         {{"device", name}, {"devices", join(listed, &LogicalDevice::name)}});
}

// Values of variables that the graph writes to, to be put back when it fails half way. Values that are held here are
// left alone: whoever writes moves to memory of its own.
class ValuesBefore {
 public:
  explicit ValuesBefore(const std::vector<LocalVariable*>& variables) {
    for (LocalVariable* variable : variables) values_.emplace_back(variable, variable->shared_value());
  }
  void restore() {
    for (auto& [variable, value] : values_) variable->replace_value(std::move(value));
  }

 private:
  std::vector<std::pair<LocalVariable*, Tensor>> values_;
};

}  // namespace

// A graph with its variables bound.
struct SessionParts::Part {
  Part(std::shared_ptr<const Graph> graph, Device& device, StoredVariables bound, std::shared_ptr<void> memory)
      : num_values(graph->inputs.size() - bound.size()),
        num_results(graph->outputs.size()),
        device(device),
        variables(std::move(bound)),
        memory(std::move(memory)) {
    std::set<Reservable*> things;
    for (const auto& variable : variables) things.insert(variable.get());
    reserved.assign(things.begin(), things.end());
    if (may_fail_half_way(*graph) || !rows_written(*graph).rows.empty()) {
      for (int position : written_inputs(*graph)) {
        restored.push_back(variables[static_cast<std::size_t>(position) - num_values]->body.get());
      }
    }
    executables = std::make_unique<ExecutableCache>(std::move(graph));
  }

  void run(const Tensors& values, Tensors& results, const RandomState& random) {
    Tensors inputs;
    for (const Tensor& value : values) inputs.push_back(value.to(device));
    for (const auto& variable : variables) inputs.push_back(variable->handle);
    results.resize(num_results);
    ValuesBefore before(restored);
    try {
      executables->run(inputs, results, random, device);
      for (Tensor& result : results) result = result.to_host();
      device.synchronize();
    } catch (...) {
      before.restore();
      throw;
    }
  }

  const std::size_t num_values, num_results;
  Device& device;
  const StoredVariables variables;
  const std::shared_ptr<void> memory;  // counts its constants
  std::vector<Reservable*> reserved;
  std::vector<LocalVariable*> restored;
  std::unique_ptr<ExecutableCache> executables;
};

SessionParts::SessionParts(std::string task, std::shared_ptr<MemoryBudget> memory)
    : task_(std::move(task)), memory_(std::move(memory)) {}

void SessionParts::list_devices(const Request<Method::ListDevices>&, Reply<Method::ListDevices>& reply) {
  for (const LogicalDevice& device : list_logical_devices()) reply.metadata.add_names(device.name);
  reply.metadata.set_by_default(default_device().name());
}

std::shared_ptr<StoredVariable> SessionParts::find_or_make(const Key& key, const proto::PartVariableProto& from,
                                                           Device& device, const ConstantTable& constants) {
  const std::string& name = from.name();
  const TensorSpec spec = read_spec(from.spec());
  const std::uint64_t bytes = bytes_of_variable(name, spec);
  const auto fitting = [&]() -> std::shared_ptr<StoredVariable> {
    std::lock_guard lock(mutex_);
    const auto known = variables_.find(key);
    if (known == variables_.end()) return nullptr;
    if (known->second->body->spec() != spec) {
      throw invalid_argument(task_, "a variable that is there already must have the type and shape asked for",
                             {{"variable", name}, {"there", known->second->body->spec()}, {"asked", spec}},
                             "Give one of them another name, or another container.");
    }
    const Device& home = known->second->body->shared_value().device();
    if (&home != &device) {
      throw invalid_argument(task_, "a variable is used on the device where it lies",
                             {{"variable", name}, {"lies on", home.name()}, {"asked", device.name()}});
    }
    return known->second;
  };
  if (auto known = fitting()) return known;
  const auto initial = parse_graph(from.initial(), constants);
  if (!initial->inputs.empty() || initial->outputs.size() != 1) {
    throw invalid_argument(task_, "an initial value is a graph without inputs and with one output",
                           {{"variable", name}});
  }
  std::shared_ptr<void> memory = memory_->reserve(name, bytes);
  Tensors value(1);
  ExecutableCache(initial).run({}, value, {}, cpu());
  if (value[0].spec() != spec) {
    throw invalid_argument(task_, "an initial value must have its variable's type and shape",
                           {{"variable", name}, {"value", value[0].spec()}, {"variable.spec", spec}});
  }
  auto body =
      std::make_shared<LocalVariable>(value[0].to(device).clone(), VariableOptions{.name = name, .dtype = spec.dtype});
  auto made = std::make_shared<StoredVariable>(std::move(body), 0, std::move(memory));
  {
    std::lock_guard lock(mutex_);
    if (variables_.emplace(key, made).second) return made;
  }
  return fitting();  // another session was faster
}

void SessionParts::register_part(const Request<Method::RegisterPart>& request, Reply<Method::RegisterPart>&) {
  const proto::RegisterPartProto& from = request.metadata;
  const std::uint64_t session = request.head.job;
  if (session == 0) throw invalid_argument(task_, "a session's id is expected", {{"session", session}});
  ConstantStore store;
  const HeldConstants constants = store.take(from.constants(), request.parts);
  std::shared_ptr<const Graph> graph = parse_graph(from.graph(), constants.table);
  const Specs inputs = graph->input_specs();
  const auto variables = static_cast<std::size_t>(from.variables_size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs.size() >= variables && (inputs[i].dtype == DType::Resource) == (i >= inputs.size() - variables))
      continue;
    throw invalid_argument(task_, "a part's graph takes tensors first, then its variables",
                           {{"inputs", inputs.size()}, {"variables", variables}});
  }
  if (inputs.size() < variables) throw invalid_argument(task_, "a part's graph has an input for each variable");
  Device& device = listed_device(from.device(), task_);
  StoredVariables bound;
  for (const proto::PartVariableProto& variable : from.variables()) {
    const Key key{variable.shared() ? 0 : session, variable.container(), variable.name()};
    bound.push_back(find_or_make(key, variable, device, constants.table));
  }
  auto memory = memory_->reserve("constants of a session", constant_bytes(constants.table));
  auto part = std::make_shared<Part>(std::move(graph), device, std::move(bound), std::move(memory));
  std::lock_guard lock(mutex_);
  Session& known = sessions_[session];
  known.master = request.head.incarnation;
  if (known.parts.size() >= kMostParts) {
    throw Error(ErrorCode::ResourceExhausted, task_, "a session has at most so many parts on a task",
                {{"parts", known.parts.size()}});
  }
  known.parts[request.head.function] = std::move(part);
}

void SessionParts::run_part(const Request<Method::RunPart>& request, Reply<Method::RunPart>& reply) {
  std::unique_lock lock(mutex_);
  const auto session = sessions_.find(request.head.job);
  const auto found = session == sessions_.end() ? decltype(session->second.parts.begin())()
                                                : session->second.parts.find(request.head.function);
  if (session == sessions_.end() || found == session->second.parts.end()) {
    throw Error(ErrorCode::Aborted, task_, "a part of a session that was registered here is expected",
                {{"part", request.head.function}},
                "The task was restarted, or the session was closed: open another session.");
  }
  const std::shared_ptr<Part> part = found->second;
  if (request.parts.size() != part->num_values) {
    throw invalid_argument(task_, "a part must be given its inputs",
                           {{"parts", request.parts.size()}, {"expected", part->num_values}});
  }
  const Reservation reservation(lock, part->reserved);
  lock.unlock();
  part->run(request.parts, reply.parts, {.seed = request.metadata.seed(), .step = request.head.step});
}

void SessionParts::release_parts(const Request<Method::ReleaseParts>& request, Reply<Method::ReleaseParts>&) {
  if (request.metadata.handles().empty()) return forget_session(request.head.job);
  std::vector<std::shared_ptr<Part>> released;  // let go of without the lock
  std::lock_guard lock(mutex_);
  const auto session = sessions_.find(request.head.job);
  if (session == sessions_.end()) return;
  for (const std::uint64_t handle : request.metadata.handles()) {
    if (auto part = session->second.parts.extract(handle)) released.push_back(std::move(part.mapped()));
  }
}

void SessionParts::forget_session(std::uint64_t session) {
  std::map<std::uint64_t, std::shared_ptr<Part>> parts;  // let go of without the lock, as are the variables
  StoredVariables own;
  std::lock_guard lock(mutex_);
  if (auto known = sessions_.extract(session)) parts = std::move(known.mapped().parts);
  if (session == 0) return;
  for (auto each = variables_.lower_bound({session, "", ""});
       each != variables_.end() && std::get<0>(each->first) == session; each = variables_.erase(each)) {
    own.push_back(std::move(each->second));
  }
}

void SessionParts::forget_master(std::uint64_t master) {
  std::vector<std::uint64_t> sessions;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, session] : sessions_) {
      if (session.master == master) sessions.push_back(id);
    }
  }
  for (const std::uint64_t session : sessions) forget_session(session);
}

bool SessionParts::knows_master(std::uint64_t master) const {
  std::lock_guard lock(mutex_);
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [&](const auto& session) { return session.second.master == master; });
}

}  // namespace cohort::distribute
