#pragma once

#include "cohort/config/configurable.h"
#include "cohort/ops/reduce.h"

namespace cohort {

// The axes of a loss or metric; as in Keras one of them is written as a number.
inline void visit_axes(FieldVisitor& visitor, ops::Axes& axes) {
  if (!visitor.reads_config() && axes.values.size() == 1) {
    visitor.field("axis", axes.values[0]);
  } else {
    visitor.field("axis", axes.values);
  }
}

}  // namespace cohort
