#pragma once

#include "cohort/core/op.h"

namespace cohort {

// Where the inputs of an update op stand: an op that moves any number of variables by their gradients, in place.
//
// Inputs stand in groups of `count`: all variables, then each kind of slot, then the gradients, then what all variables
// share. So the inputs of Adam over two variables are
//   [var_0, var_1, momentum_0, momentum_1, velocity_0, velocity_1, gradient_0, gradient_1, learning_rate, iterations]
// with count = 2 and groups = 4. With `squares` one more group follows the gradients: their squares, where these are
// more than the square of the gradient. As in Keras, slices of one row are squared apart and then added up. With
// `rounded`, a half type, the last group are copies of the variables in that type, which the update writes as well.
// Gradients have the type of the variables; float32 ones may have gradients in half types where the update says by
// kComputeType what they are.
//
// A few numbers that can be copied into a kernel; only this type knows the attributes that hold them.
class UpdateLayout {
 public:
  // The attributes of an update over `count` variables.
  static Attributes attributes(int slots, bool squares, int count = 1);
  static void set_count(Attributes& attributes, int count);
  // Adds the group of copies in a half type to the attributes of an update.
  static void add_rounded(const OpDef& op, Attributes& attributes, DType half);
  // Gives an op the attributes that a layout is read from; `rounds`: as in UpdateOptions.
  static void add_defaults(OpDef& op, int slots, bool rounds);
  // Whether an op has such a layout.
  static bool describes(const OpDef& op);
  // Whether an update can have rounded copies, and gradients in half types.
  static bool rounds(const OpDef& op);

  // Throws InvalidArgument when the attributes ask for more inputs than there are.
  explicit UpdateLayout(const OpCall& call) : UpdateLayout(call.op(), call.attributes(), call.num_inputs()) {}
  UpdateLayout(const OpDef& op, const Attributes& attributes, int inputs);

  int count() const { return count_; }  // variables
  int slots() const { return slots_; }  // kinds of slots
  bool has_squares() const { return squares_; }
  bool has_rounded() const { return rounded_type_ != DType::Float32; }
  DType rounded_type() const { return rounded_type_; }  // of the copies; float32: there are none
  int num_shared() const { return num_shared_; }
  int groups() const { return 1 + slots_ + (squares_ ? 2 : 1) + (has_rounded() ? 1 : 0); }

  // Positions among the inputs: those of the i-th variable, and what all variables share.
  int variable(int i) const { return i; }
  int slot(int i, int kind) const { return in_group(1 + kind, i); }
  int gradient(int i) const { return in_group(1 + slots_, i); }
  int squares(int i) const { return in_group(2 + slots_, i); }
  int rounded(int i) const { return in_group(groups() - 1, i); }
  int shared(int k) const { return in_group(groups(), k); }
  int in_group(int group, int i) const { return group * count_ + i; }

 private:
  int count_, slots_, num_shared_;
  bool squares_;
  DType rounded_type_;
};

}  // namespace cohort
