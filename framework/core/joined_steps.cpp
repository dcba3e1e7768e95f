#include "cohort/core/joined_steps.h"

#include <string_view>

namespace cohort {
namespace {

std::string prefix_of_step(std::size_t step) { return std::to_string(step) + "/"; }

// The attributes of one step.
Attributes attributes_of_step(const Attributes& all, std::size_t step) {
  const std::string prefix = prefix_of_step(step);
  Attributes own;
  for (const Attributes::Entry& entry : all) {
    if (entry.name.starts_with(prefix)) own.set(std::string_view(entry.name).substr(prefix.size()), entry.value);
  }
  return own;
}

}  // namespace

JoinedSteps::JoinedSteps(const OpCall& call) : inputs_(call.num_inputs()) {
  const auto ops = call.attr<std::vector<std::string>>("ops");
  const auto arity = call.attr<std::vector<std::int64_t>>("arity"), args = call.attr<std::vector<std::int64_t>>("args");
  const auto names = call.attr<std::vector<std::string>>("names");
  call.check(ops.size() == arity.size() && ops.size() == names.size(),
             "each step must say how many values it takes and what it is called",
             {{"steps", ops.size()}, {"arity", arity.size()}, {"names", names.size()}});
  std::size_t next = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Step step;
    step.op = &find_op(ops[i]);
    step.attributes = attributes_of_step(call.attributes(), i);
    step.name = names[i];
    step.first_output = static_cast<int>(outputs_.size());
    for (std::int64_t taken = 0; taken < arity[i]; ++taken, ++next) {
      const std::int64_t known = inputs_ + static_cast<std::int64_t>(outputs_.size());
      const std::int64_t value = next < args.size() ? args[next] : -1;
      call.check(value >= 0 && value < known, "steps must take values that are there before them",
                 {{"step", i}, {"value", value}, {"values", known}});
      step.inputs.push_back(static_cast<int>(value));
      step.input_specs.push_back(value < inputs_ ? call.spec(static_cast<int>(value))
                                                 : outputs_[static_cast<std::size_t>(value - inputs_)]);
    }
    step.output_specs = step.op->infer_outputs(step.input_specs, step.attributes);
    outputs_.insert(outputs_.end(), step.output_specs.begin(), step.output_specs.end());
    steps_.push_back(std::move(step));
  }
}

Attributes JoinedSteps::attributes(const std::vector<Step>& steps) {
  std::vector<std::string> ops, names;
  std::vector<std::int64_t> arity, args;
  Attributes all;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ops.push_back(steps[i].op->name());
    names.push_back(steps[i].name);
    arity.push_back(static_cast<std::int64_t>(steps[i].inputs.size()));
    args.insert(args.end(), steps[i].inputs.begin(), steps[i].inputs.end());
    for (const Attributes::Entry& entry : steps[i].attributes) all.set(prefix_of_step(i) + entry.name, entry.value);
  }
  all.set("ops", AttributeValue(ops));
  all.set("names", AttributeValue(names));
  all.set("arity", AttributeValue(arity));
  all.set("args", AttributeValue(args));
  return all;
}

VariableClaims JoinedSteps::claims() const {
  VariableClaims claims;
  for (const Step& step : steps_) {
    for (VariableClaim claim : step.op->claims_of(step.call())) {
      claim.input = step.inputs[static_cast<std::size_t>(claim.input)];
      if (claim.input < inputs_) claims.push_back(claim);
    }
  }
  return claims;
}

}  // namespace cohort
