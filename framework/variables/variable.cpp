#include "cohort/variables/variable.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/text.h"
#include "cohort/graph/bound_captures.h"
#include "cohort/graph/trace.h"
#include "cohort/variables/autocast.h"
#include "cohort/variables/replica_context.h"
#include "cohort/variables/shards.h"
#include "cohort/variables/variable_body.h"
#include "cohort/variables/variable_creator.h"

namespace cohort {
namespace {

Tensor cast(const Tensor& value, DType dtype) {
  return value.dtype() == dtype ? value : run_op("Cast", {value}, {{"dtype", dtype}});
}

const Tensor& checked(const Tensor& initial_value, const VariableOptions& options) {
  if (initial_value.is_symbolic()) {
    throw failed_precondition(titled("Variable", options.name), "a variable's initial value must be concrete",
                              {{"initial_value", initial_value.spec()}},
                              "Make variables in build() or before the traced function.");
  }
  return initial_value;
}

// Of the type the variable is to have.
InitialValue converted(const InitialValue& initial, DType dtype) {
  return initial.spec().dtype == dtype ? initial : InitialValue(cast(initial.value(), dtype));
}

}  // namespace

Variable::Variable(const Tensor& initial_value, VariableOptions options)
    : Variable(InitialValue(checked(initial_value, options)), options) {}

Variable::Variable(const InitialValue& given, VariableOptions options) {
  EagerScope eager;
  const InitialValue initial = converted(given, options.dtype);
  VariableCreator* creator = current_variable_creator();
  if (creator) body_ = creator->create(initial, options);
  if (!body_) {
    VariableBody* beside = options.colocate_with.get();
    const bool found = beside && !beside->owner() && beside->parts().empty();
    Tensor value = initial.value().to(found ? beside->shared_value().device() : default_device());
    // Memory of its own: what the caller holds must not change with the variable.
    if (initial.concrete()) value = value.clone();
    body_ = std::make_shared<LocalVariable>(std::move(value), std::move(options));
  }
  body_->made_under_ = creator;
  if (!sharded()) handle_ = Tensor::of_resource(body_);
}

Variable::Variable(std::shared_ptr<VariableBody> body) : body_(std::move(body)) {
  if (!sharded()) handle_ = Tensor::of_resource(body_);
}

const std::string& Variable::name() const { return body_->name(); }
const std::string& Variable::path() const { return body_->path(); }
void Variable::set_path(std::string path) { body_->set_path(std::move(path)); }
DType Variable::dtype() const { return body_->spec().dtype; }
const Shape& Variable::shape() const { return body_->spec().shape; }
bool Variable::trainable() const { return body_->options().trainable; }
void Variable::set_trainable(bool trainable) { body_->set_trainable(trainable); }
Aggregation Variable::aggregation() const { return body_->options().aggregation; }
Synchronization Variable::synchronization() const { return body_->options().synchronization; }
const Ref<Constraint>& Variable::constraint() const { return body_->constraint(); }
void Variable::set_constraint(Ref<Constraint> constraint) { body_->set_constraint(std::move(constraint)); }

bool Variable::sharded() const { return !body_->parts().empty(); }
std::vector<Variable> Variable::shards() const { return sharded() ? body_->parts() : std::vector<Variable>{*this}; }

const Tensor& Variable::handle() const {
  if (body_ && sharded()) {
    throw failed_precondition(titled("Variable", path()), "a sharded variable has no handle of its own",
                              {{"shards", body_->parts().size()}}, "Use those of shards().");
  }
  // A trace is made once for all replicas, which bind their own.
  const CaptureBinder* binder = CaptureBinding::current();
  return binder && current_trace() == 0 ? binder->bind(handle_) : handle_;
}

namespace {

Tensor read(const Variable& variable) {
  if (!variable.sharded()) {
    return run_op("ReadVariable", {variable.handle()}, {{"dtype", variable.dtype()}, {"shape", variable.shape()}});
  }
  Tensors rows;
  for (const Variable& shard : variable.body()->parts()) rows.push_back(read(shard));
  return run_op("Concat", rows, {{"axis", 0}});
}

// Those whose copies make this variable together, while code of all of them is traced; nullptr: it is one value.
const ReplicaContext* merged_replicas(const Variable& variable) {
  return variable.synchronization() == Synchronization::OnRead ? traced_merge() : nullptr;
}

Tensor read_whole(const Variable& variable) {
  const ReplicaContext* replicas = merged_replicas(variable);
  const Tensor value = read(variable);
  return replicas ? replicas->made_together(variable, value) : value;
}

}  // namespace

Tensor Variable::value() const {
  const std::optional<DType> autocast = current_autocast();
  const Tensor value = read_whole(*this);
  return autocast && is_floating(dtype()) && body_->options().autocast ? cast(value, *autocast) : value;
}

namespace {

// The value in the variable's type, checked against its shape.
Tensor fitting(const Variable& variable, const Tensor& value, const char* what) {
  if (!value.shape().compatible(variable.shape())) {
    throw invalid_argument(titled("Variable", variable.path()),
                           std::string(what) + " needs a value of the variable's shape",
                           {{"value.shape", value.shape()}, {"variable.shape", variable.shape()}});
  }
  return cast(value, variable.dtype());
}

// What a replica's code may write: what is the same on all replicas gets what all of them agree on.
Tensor agreed(const Variable& variable, const Tensor& value) {
  if (const ReplicaContext* replicas = merged_replicas(variable)) return replicas->part_of(variable, value);
  const ReplicaContext* replica = get_replica_context();
  if (!replica || variable.synchronization() == Synchronization::OnRead) return value;
  return replica->aggregated(variable, value);
}

// Runs a write on the variable, or with its rows of the value on each shard.
void write(const Variable& variable, const char* op, const Tensor& value) {
  if (!variable.sharded()) {
    run_op_all(op, {variable.handle(), value}, {{"dtype", variable.dtype()}, {"shape", variable.shape()}});
    return;
  }
  const Variables shards = variable.shards();
  const std::vector<RowRange> ranges = row_ranges(shards);
  for (std::size_t i = 0; i < shards.size(); ++i) write(shards[i], op, rows_of(value, ranges[i]));
}

}  // namespace

void Variable::assign(const Tensor& value) {
  write(*this, "AssignVariable", agreed(*this, fitting(*this, value, "assign")));
}
void Variable::assign_add(const Tensor& delta) {
  if (merged_replicas(*this)) return assign(read_whole(*this) + fitting(*this, delta, "assign_add"));
  write(*this, "AssignAddVariable", agreed(*this, fitting(*this, delta, "assign_add")));
}
void Variable::assign_sub(const Tensor& delta) {
  if (merged_replicas(*this)) return assign(read_whole(*this) - fitting(*this, delta, "assign_sub"));
  write(*this, "AssignSubVariable", agreed(*this, fitting(*this, delta, "assign_sub")));
}

void Variable::scatter_add(const Tensor& indices, const Tensor& values) {
  if (get_replica_context() && synchronization() != Synchronization::OnRead) {
    throw failed_precondition(
        titled("Variable", path()), "replicas may not add rows to what is the same on all of them",
        {{"synchronization", "OnWrite"}}, "Make it with Synchronization::OnRead, or assign_add().");
  }
  const ReplicaContext* replicas = merged_replicas(*this);
  if (replicas) assign(read_whole(*this));
  if (!sharded()) {
    const Tensor own = replicas ? replicas->part_of(*this, values) : values;
    run_op_all("ScatterAddVariable", {handle(), indices, own}, {{"dtype", dtype()}, {"shape", shape()}});
    return;
  }
  const std::vector<RowRange> ranges = row_ranges(body_->parts());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    Variable shard = body_->parts()[i];
    const IndexedSlices rows = rows_of(IndexedSlices{values, indices, {}}, ranges, i);
    shard.scatter_add(rows.indices, rows.values);
  }
}

void write_now(const Variable& variable, const Tensor& value) {
  EagerScope eager;
  Variable(variable).assign(value);
}

Tensor read_now(const Variable& variable) {
  EagerScope eager;
  const AutocastScope as_it_is(std::nullopt);
  const Tensor value = variable.value();
  return value.device().host_readable() ? value.clone() : value.to_host();
}

}  // namespace cohort
