#include "cohort/autodiff/backprop.h"

#include <unordered_map>
#include <unordered_set>

#include "cohort/core/dispatch.h"

namespace cohort {
namespace {

// The gradients that reached each tensor, added up as they come.
class GradientStore {
 public:
  void add(const Tensor& tensor, const Gradient& gradient) {
    if (!gradient.defined()) return;
    Gradient& slot = sums_[tensor.key()];
    if (!slot.defined()) {
      slot = gradient;
    } else if (slot.is_slices() && gradient.is_slices()) {
      const IndexedSlices &a = slot.slices(), &b = gradient.slices();
      slot = IndexedSlices{run_op("Concat", {a.values, b.values}, {{"axis", 0}}),
                           run_op("Concat", {a.indices, b.indices}, {{"axis", 0}}), a.like};
    } else {
      slot = run_op("Add", {slot.dense(), gradient.dense()});
    }
  }
  const Gradient* find(const Tensor& tensor) const {
    auto found = sums_.find(tensor.key());
    return found == sums_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<const void*, Gradient> sums_;
};

// Which recorded ops lie between a source and a target: only those need a gradient.
std::vector<bool> needed_ops(const std::vector<RecordedOp>& ops, const Tensors& sources) {
  std::unordered_set<const void*> reached;
  for (const Tensor& source : sources) reached.insert(source.key());
  std::vector<bool> needed(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (const Tensor& input : ops[i].inputs) {
      if (reached.contains(input.key())) needed[i] = true;
    }
    if (needed[i] && ops[i].op->is_differentiable()) {
      for (const Tensor& output : ops[i].outputs) reached.insert(output.key());
    }
  }
  return needed;
}

}  // namespace

Gradients backpropagate(const std::vector<RecordedOp>& ops, const Tensors& targets, const Tensors& output_gradients,
                        const Tensors& sources) {
  GradientStore store;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!is_floating(targets[i].dtype())) {
      throw invalid_argument("GradientTape", "the target of a gradient is a floating tensor",
                             {{"target", targets[i].spec()}});
    }
    const Tensor& given = i < output_gradients.size() ? output_gradients[i] : Tensor();
    store.add(targets[i], given.defined() ? given : run_op("OnesLike", {targets[i]}));
  }

  const std::vector<bool> needed = needed_ops(ops, sources);
  for (std::size_t i = ops.size(); i-- > 0;) {
    const RecordedOp& record = ops[i];
    if (!needed[i] || !record.op->is_differentiable()) continue;
    // A read passes slices on as they are: an optimizer may treat rows one by one.
    if (record.op->name() == "ReadVariable") {
      const Gradient* gradient = store.find(record.outputs[0]);
      if (gradient && gradient->is_slices()) {
        store.add(record.inputs[0], *gradient);
        continue;
      }
    }
    Tensors incoming(record.outputs.size());
    bool any = false;
    for (std::size_t k = 0; k < record.outputs.size(); ++k) {
      if (const Gradient* gradient = store.find(record.outputs[k])) {
        incoming[k] = gradient->dense();
        any = true;
      }
    }
    if (!any) continue;
    Specs specs;
    for (const Tensor& input : record.inputs) specs.push_back(input.spec());
    const OpCall call(*record.op, record.attributes, specs, record.inputs, record.outputs);
    const Gradients outgoing = record.op->gradients(call, incoming);
    for (std::size_t k = 0; k < outgoing.size(); ++k) store.add(record.inputs[k], outgoing[k]);
  }

  Gradients result;
  for (const Tensor& source : sources) {
    const Gradient* gradient = store.find(source);
    result.push_back(gradient ? *gradient : Gradient());
  }
  return result;
}

}  // namespace cohort
