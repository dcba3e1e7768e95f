#pragma once

#include "cohort/config/field_codec.h"
#include "cohort/ops/reduce.h"

namespace cohort {

// The axes of a loss, a metric or a product; as in Keras one of them is written as a number.
template <>
struct FieldCodec<ops::Axes> {
  static ConfigValue to(const ops::Axes& axes) { return one_or_list(axes.values); }
  static ops::Axes from(const GivenField& given) { return FieldCodec<std::vector<std::int64_t>>::from(given); }
};

}  // namespace cohort
