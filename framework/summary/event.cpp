#include <chrono>

#include "cohort/summary/event.h"

namespace cohort::summary {

int tensorflow_dtype(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 10;
    case DType::UInt8:
      return 4;
    case DType::Int8:
      return 6;
    case DType::Int32:
      return 3;
    case DType::Int64:
      return 9;
    case DType::Float16:
      return 19;
    case DType::BFloat16:
      return 14;
    case DType::Float32:
      return kTensorFlowFloat;
    case DType::Float64:
      return kTensorFlowDouble;
    case DType::String:
      return kTensorFlowString;
    case DType::Resource:
      return 20;
  }
  return 0;
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Event new_event(std::int64_t step) {
  Event event;
  event.set_wall_time(wall_time());
  event.set_step(step);
  return event;
}

Summary::Value& add_value(Event& event, const std::string& tag, const char* plugin, std::string_view content) {
  Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  auto& data = *value.mutable_metadata()->mutable_plugin_data();
  data.set_plugin_name(plugin);
  data.set_content(content.data(), content.size());
  return value;
}

void set_text(TensorProto& tensor, std::string_view text) {
  tensor.set_dtype(kTensorFlowString);
  tensor.mutable_tensor_shape();
  tensor.add_string_val(text.data(), text.size());
}

}  // namespace cohort::summary
