#include "cohort/distribute/strategies/replica_variables.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cohort/core/device_spec.h"
#include "cohort/core/thread_pool.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"

namespace cohort::distribute {
namespace {

// From here on threads share the work of copying.
constexpr std::size_t kLargeCopy = 256 << 10;

// With memory of its own.
Tensor copied_to(const Tensor& value, Device& device) {
  return &value.device() == &device ? value.clone() : value.to(device);
}

// What copies of a variable make together.
Tensor merged(std::span<const std::shared_ptr<LocalVariable>> copies, Aggregation aggregation) {
  Tensor sum = copies[0]->shared_value().to_host();
  if (aggregation == Aggregation::OnlyFirstReplica) return sum;
  const EagerScope eager;
  const DeviceScope host(DeviceSpec::from_string("CPU:0"));
  for (std::size_t i = 1; i < copies.size(); ++i) sum = sum + copies[i]->shared_value().to_host();
  if (aggregation == Aggregation::Sum) return sum;
  return ops::cast(sum / static_cast<double>(copies.size()), copies[0]->spec().dtype);
}

}  // namespace

Variable variable_of_each(const char* name, Tensor value) {
  return Variable(
      std::make_shared<LocalVariable>(std::move(value), VariableOptions{.name = name,
                                                                        .trainable = false,
                                                                        .aggregation = Aggregation::OnlyFirstReplica,
                                                                        .synchronization = Synchronization::OnRead,
                                                                        .autocast = false}));
}

ReplicaVariables::ReplicaVariables(std::vector<Device*> devices, bool keeper)
    : devices_(std::move(devices)), replicas_(devices_.size() - (keeper ? 1 : 0)), owner_(keeper ? replicas_ : 0) {}

// Recordings know the memory that a variable has.
void ReplicaVariables::set_value(LocalVariable& copy, const Tensor& value, Device& device) {
  const bool here = &value.device() == &device, from_host = !here && value.device().host_readable();
  if (value.dtype() == DType::String || (!here && !from_host && !device.can_record())) {
    return copy.replace_value(copied_to(value, device));
  }
  copy.prepare_write();
  if (from_host) return device.copy_from_host(copy.kernel_pointer(), value.raw(), value.bytes());
  const Tensor there = here ? value : value.to(device);
  device.copy(copy.kernel_pointer(), there.raw(), there.bytes());
}

ReplicaVariables::Copies ReplicaVariables::make_copies(const std::shared_ptr<LocalVariable>& variable,
                                                       bool reads_whole) const {
  const VariableOptions& options = variable->options();
  Copies copies;
  copies.variable = variable;
  copies.reads_whole = reads_whole;
  copies.aggregation = options.aggregation;
  copies.apart = options.synchronization == Synchronization::OnRead && !reads_whole;
  if (copies.apart && options.aggregation == Aggregation::None) throw lacks_aggregation(*variable);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const bool itself = i == owner_ && !copies.apart;
    copies.bodies.push_back(
        itself ? nullptr : std::make_shared<LocalVariable>(copied_to(variable->shared_value(), *devices_[i]), options));
    copies.handles.push_back(itself ? Tensor() : Tensor::of_resource(copies.bodies.back()));
  }
  copies.writes.resize(devices_.size());
  spread(*variable, copies);
  return copies;
}

const Tensor& ReplicaVariables::copy_of(const Tensor& handle, int replica, bool reads_whole) {
  const auto variable = std::dynamic_pointer_cast<LocalVariable>(handle.resource());
  if (!variable) return handle;
  std::lock_guard lock(mutex_);
  reads_whole = reads_whole && variable->options().synchronization == Synchronization::OnRead;
  Book& book = reads_whole ? readers_ : copies_;
  const auto known = book.find(variable.get());
  // Another variable may since have got the address.
  if (known != book.end() && known->second.variable.lock() == variable) {
    return known->second.handle(replica, handle);
  }
  Copies& made = book[variable.get()] = make_copies(variable, reads_whole);
  list_followers();
  return made.handle(replica, handle);
}

void ReplicaVariables::spread(LocalVariable& variable, Copies& copies) const {
  if (copies.seen == variable.writes()) return;
  const Tensor value = variable.shared_value();
  const auto write_copy = [&](std::int64_t copy) {
    const auto i = static_cast<std::size_t>(copy);
    if (!copies.apart && i == owner_) return;
    // What is summed up on reading counts once.
    const bool counts = !copies.apart || copies.aggregation != Aggregation::Sum || i == 0;
    set_value(*copies.bodies[i], counts ? value : Tensor::full(value.shape(), 0.0, value.dtype(), *devices_[i]),
              *devices_[i]);
    copies.writes[i] = copies.bodies[i]->writes();
  };
  const auto all = static_cast<std::int64_t>(copies.bodies.size());
  parallel_for(all, value.bytes() < kLargeCopy ? all : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) write_copy(i);
  });
  copies.seen = variable.writes();
}

void ReplicaVariables::gather(LocalVariable& variable, Copies& copies) const {
  if (!copies.apart || copies.seen != variable.writes()) return;
  bool written = false;
  for (std::size_t i = 0; i < copies.bodies.size(); ++i) {
    written = written || copies.writes[i] != copies.bodies[i]->writes();
    copies.writes[i] = copies.bodies[i]->writes();
  }
  if (!written) return;
  const std::span<const std::shared_ptr<LocalVariable>> counting(copies.bodies.data(), replicas_);
  variable.replace_value(copied_to(merged(counting, copies.aggregation), *devices_[owner_]));
  copies.seen = variable.writes();
}

// Where the keeper has taken no part; all replicas have written the same.
void ReplicaVariables::take_from_replicas(LocalVariable& variable, Copies& copies) const {
  const LocalVariable& first = *copies.bodies[0];
  if (copies.seen != variable.writes() || copies.writes[0] == first.writes()) return;
  variable.replace_value(copied_to(copies.bodies[0]->shared_value(), *devices_[owner_]));
  copies.seen = variable.writes();
  for (std::size_t i = 0; i < replicas_; ++i) copies.writes[i] = copies.bodies[i]->writes();
}

// Where there is one replica, most variables are its copies themselves, and need no look at every step.
void ReplicaVariables::list_followers() {
  followers_.clear();
  for (Book* book : {&copies_, &readers_}) {
    for (auto& [resource, copies] : *book) {
      if (copies.apart || copies.bodies.size() > 1) followers_.push_back(&copies);
    }
  }
}

void ReplicaVariables::settle() {
  std::lock_guard lock(mutex_);
  for (Copies* copies : followers_) {
    if (copies->apart || copies->reads_whole) continue;
    const std::shared_ptr<LocalVariable> variable = copies->variable.lock();
    if (!variable) continue;
    if (owner_ == 0) {
      copies->seen = variable->writes();
    } else {
      take_from_replicas(*variable, *copies);
    }
  }
}

void ReplicaVariables::set_whole(LocalVariable& variable, const Tensor& value) {
  std::lock_guard lock(mutex_);
  variable.replace_value(copied_to(value, *devices_[owner_]));
  const auto known = copies_.find(&variable);
  if (known != copies_.end()) known->second.seen = variable.writes();
}

const ReplicaVariables::Copies* ReplicaVariables::copies_apart(const LocalVariable& variable) const {
  const auto known = copies_.find(&variable);
  if (known == copies_.end() || known->second.variable.lock().get() != &variable) return nullptr;
  return known->second.apart && known->second.seen == variable.writes() ? &known->second : nullptr;
}

std::optional<Tensor> ReplicaVariables::made_together(const LocalVariable& variable) {
  std::lock_guard lock(mutex_);
  const Copies* copies = copies_apart(variable);
  return copies ? std::optional(merged({copies->bodies.data(), replicas_}, copies->aggregation)) : std::nullopt;
}

std::shared_ptr<LocalVariable> ReplicaVariables::own_copy(const LocalVariable& variable, int replica) {
  std::lock_guard lock(mutex_);
  const Copies* copies = copies_apart(variable);
  return copies ? copies->bodies[static_cast<std::size_t>(replica)] : nullptr;
}

std::unordered_map<const Resource*, Tensor> ReplicaVariables::own_sums(int replica) {
  std::unordered_map<const Resource*, Tensor> sums;
  std::lock_guard lock(mutex_);
  for (const auto& [resource, copies] : copies_) {
    if (!copies.apart || copies.aggregation != Aggregation::Sum) continue;
    sums[resource] = copies.bodies[static_cast<std::size_t>(replica)]->shared_value().clone();
  }
  return sums;
}

void ReplicaVariables::restore_sums(int replica, const std::unordered_map<const Resource*, Tensor>& sums) {
  std::lock_guard lock(mutex_);
  for (auto& [resource, copies] : copies_) {
    if (!copies.apart || copies.aggregation != Aggregation::Sum) continue;
    LocalVariable& copy = *copies.bodies[static_cast<std::size_t>(replica)];
    const auto known = sums.find(resource);
    Device& device = *devices_[static_cast<std::size_t>(replica)];
    set_value(copy,
              known != sums.end() ? known->second : Tensor::full(copy.spec().shape, 0.0, copy.spec().dtype, device),
              device);
  }
}

void ReplicaVariables::spread() {
  std::lock_guard lock(mutex_);
  bool all_there = true;
  for (Copies* copies : followers_) {
    const std::shared_ptr<LocalVariable> variable = copies->variable.lock();
    all_there = all_there && variable;
    if (variable) spread(*variable, *copies);
  }
  if (all_there) return;
  for (Book* book : {&copies_, &readers_}) {
    std::erase_if(*book, [](const auto& entry) { return entry.second.variable.expired(); });
  }
  list_followers();
}

void ReplicaVariables::gather() {
  std::lock_guard lock(mutex_);
  for (auto& [resource, copies] : copies_) {
    if (const std::shared_ptr<LocalVariable> variable = copies.variable.lock()) gather(*variable, copies);
  }
}

}  // namespace cohort::distribute
