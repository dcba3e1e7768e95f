#pragma once

#include <string_view>

#include "cohort/core/dtype.h"

namespace cohort::datasets {

// Reads a number that stands in [begin, end) and ends before `delimiter` or at the end, when it is one of the usual
// kind: a sign, a few digits, a point. Where it ends; nullptr when it takes parse_value() to tell.
//   target: the number, of type dtype, correctly rounded.
const char* parse_usual_number(const char* begin, const char* end, char delimiter, DType dtype, char* target);

// Reads any value of type int32, int64, float32, float64 or bool, spaces around it left out; false when it is none.
bool parse_value(std::string_view text, DType dtype, char* target);

}  // namespace cohort::datasets
