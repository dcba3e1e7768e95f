#include "cohort/variables/variable_body.h"

#include "cohort/core/device_memory.h"
#include "cohort/core/text.h"
#include "cohort/variables/variable.h"

namespace cohort {
namespace {

// Memory of another process, of a user, or of another device that sees it: not for a variable to write to.
bool is_lent(const Tensor& value) { return is_plain(value.dtype()) && !value.buffer()->pooled(); }

}  // namespace

VariableBody::VariableBody(TensorSpec spec, VariableOptions options)
    : Resource(options.name), spec_(std::move(spec)), options_(std::move(options)) {
  if (options_.path.empty()) options_.path = options_.name;
  options_.colocate_with.reset();  // a matter of its making alone; keeping it would keep the other one alive
}

const std::vector<Variable>& VariableBody::parts() const {
  static const auto* none = new std::vector<Variable>;
  return *none;
}

void VariableBody::set_trainable(bool trainable) {
  options_.trainable = trainable;
  for (Variable part : parts()) part.set_trainable(trainable);
}

void VariableBody::set_path(std::string path) {
  options_.path = std::move(path);
  for (std::size_t i = 0; i < parts().size(); ++i) {
    Variable(parts()[i]).set_path(options_.path + "/part_" + std::to_string(i));
  }
}

Error lacks_aggregation(const VariableBody& variable) {
  const bool on_read = variable.options().synchronization == Synchronization::OnRead;
  return invalid_argument(titled("Variable", variable.path()),
                          on_read ? "what is synchronized on reading must say how replicas' values become one"
                                  : "a variable that replicas write must say how their values become one",
                          {{"aggregation", "None"}}, "Make it with Aggregation::Sum, Mean or OnlyFirstReplica.");
}

LocalVariable::LocalVariable(Tensor value, VariableOptions options)
    : VariableBody(value.spec(), std::move(options)), value_(is_lent(value) ? value.clone() : std::move(value)) {
  const Buffer& memory = *value_.buffer();
  if (memory.pooled() && memory.bytes() >= MemoryAccount::kNotedBytes) {
    memory.device().note_use(memory.data(), memory.bytes(), [this] { return "variable " + in_quotes(path()); });
  }
}

void LocalVariable::prepare_write() {
  count_write();
  // A tensor that was read shares this memory and must keep its value.
  if (!value_.buffer()->unique() || is_lent(value_)) value_ = value_.clone();
}

void LocalVariable::replace_value(Tensor value) {
  check_value(value.spec());
  count_write();
  value_ = std::move(value);
}

void LocalVariable::check_value(const TensorSpec& value) const {
  if (value == spec()) return;
  throw invalid_argument(titled("Variable", path()), "a new value must have the variable's type and shape",
                         {{"value", value}, {"variable", spec()}});
}

}  // namespace cohort
