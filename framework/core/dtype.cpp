#include "cohort/core/dtype.h"

#include <ostream>

#include "cohort/core/error.h"

namespace cohort {
namespace {

struct DTypeFacts {
  const char* name;
  std::size_t size;
};

constexpr DTypeFacts kFacts[kDTypeCount] = {{"bool", 1},    {"uint8", 1},   {"int8", 1},     {"int32", 4},
                                            {"int64", 8},   {"float16", 2}, {"bfloat16", 2}, {"float32", 4},
                                            {"float64", 8}, {"string", 0},  {"resource", 0}};

}  // namespace

std::size_t size_of(DType dtype) { return kFacts[static_cast<int>(dtype)].size; }

const char* to_string(DType dtype) { return kFacts[static_cast<int>(dtype)].name; }

DType dtype_from_string(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == kFacts[i].name) return static_cast<DType>(i);
  }
  throw invalid_argument("dtype", "the name of an element type is expected", {{"dtype", name}},
                         "Use one of bool, uint8, int8, int32, int64, float16, bfloat16, float32, float64, string.");
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (!is_plain(a) || !is_plain(b)) {
    throw invalid_argument("promote", "strings and resources have no common type with others",
                           {{"a", to_string(a)}, {"b", to_string(b)}});
  }
  if (a > b) std::swap(a, b);
  if (a == DType::Bool) return b;
  if (is_floating(b)) {
    // Two different 16-bit floats share nothing smaller than float32; integers follow the float.
    if (a == DType::Float16 && b == DType::BFloat16) return DType::Float32;
    return b;
  }
  if (a == DType::UInt8 && b == DType::Int8) return DType::Int32;
  return b;
}

}  // namespace cohort
