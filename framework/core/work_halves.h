#pragma once

#include "cohort/core/op.h"

namespace cohort {

// Ops of work that goes on beside the ops that follow: one begins it and another, which gets what that one gave, ends
// it. Both write to a resource, their input 0, which keeps them in order. Graphs run the first as soon as its inputs
// are there and the second when nothing else is left to do.
//
// Only this type knows the attributes by which an op is one of them.
class WorkHalves {
 public:
  // Makes an op the first half: output i may be written over input i + 1, of the same type and shape. Its kernel has
  // read its inputs when it returns.
  static void make_first(OpDef& op);
  // Makes an op the second half: output i is input i + 1, in the same memory, from when it has run.
  static void make_second(OpDef& op);

  // Whether an op is the first half.
  static bool begins(const OpDef& op);
  // Whether an op is the second half.
  static bool ends(const OpDef& op);
  // The input that output `output` may be written over, or is; of those ops.
  static int input_of(int output) { return output + 1; }
};

}  // namespace cohort
