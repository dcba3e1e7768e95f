#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/optimizers/gradient_magnitudes.h"
#include "cohort/optimizers/optimizer.h"

namespace cohort {

// A call of one of the built-in update ops, less what is the same for all of them.
struct UpdateOp {
  // Name of the op: "AdamUpdate".
  std::string name;
  Attributes options = {};  // its attributes beside weight decay
  Tensors shared = {};      // its inputs after the learning rate
};

// Runs an update op for one variable and its slots.
void run_update(const UpdateOp& op, const Variable& variable, const Variables& slots, const DenseGradient& gradient,
                const Tensor& learning_rate, double weight_decay);

// An optimizer whose step for a variable is one update op that takes the variable and all its slots: what the built-in
// ones have in common. Each says which slots it has and which op it runs.
class SingleOpOptimizer : public Optimizer {
 public:
  using Optimizer::Optimizer;
  void build(const Variables& variables) override;
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) override;

 protected:
  // Makes the slots by add_slots(), in the order in which the op takes them.
  virtual void make_slots(const Variables& variables) = 0;
  virtual UpdateOp update_op() const = 0;
  bool decays_in_update() const override { return true; }
  // What the update takes of a gradient: of slices also their squares, where nothing else is said.
  virtual DenseGradient dense(const Gradient& gradient) const { return with_squares(gradient); }
  // One slot of each name for each variable. As in Keras, slots made by one call stand together variable by variable.
  void add_slots(const Variables& variables, std::initializer_list<const char*> names, double initial = 0.0);
  void add_slots(const Variables& variables, std::initializer_list<const char*> names, std::vector<double> initial);
  // The slot of a variable under the name that was `number` in the order of names.
  const Variable& slot_of(const Variable& variable, std::size_t number) const;

 private:
  std::vector<Variables> slots_;  // of each name, in the order of the variables
};

}  // namespace cohort
