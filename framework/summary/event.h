#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cohort/core/dtype.h"
#include "cohort/summary/event.pb.h"

// Making events; for the sources of the event writer.
namespace cohort::summary {

// TensorFlow's numbers of the types that occur in summaries.
inline constexpr int kTensorFlowFloat = 1, kTensorFlowDouble = 2, kTensorFlowString = 7;
int tensorflow_dtype(DType dtype);

// Seconds since 1970.
double wall_time();
Event new_event(std::int64_t step);
// Adds a value for a plugin of TensorBoard; the caller fills in the tensor.
Summary::Value& add_value(Event& event, const std::string& tag, const char* plugin, std::string_view content = {});
// A string of rank 0.
void set_text(TensorProto& tensor, std::string_view text);

}  // namespace cohort::summary
