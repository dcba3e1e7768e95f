#include <cctype>
#include <map>
#include <mutex>

#include "cohort/core/text.h"
#include "cohort/model/layer/layer.h"
#include "cohort/model/layer/layer_names.h"

namespace cohort {
namespace {

struct Names {
  std::mutex mutex;
  std::map<std::string, int> counts;
};
// Never destroyed: layers in static storage may ask for a name at exit.
Names& names() {
  static Names* names = new Names;
  return *names;
}

// "Conv2DTranspose" -> "conv2d_transpose", as Keras writes it.
std::string snake_case(std::string_view name) {
  const auto is_upper = [&](std::size_t i) { return std::isupper(static_cast<unsigned char>(name[i])) != 0; };
  const auto is_lower = [&](std::size_t i) {
    return i < name.size() && std::islower(static_cast<unsigned char>(name[i])) != 0;
  };
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins_word = is_upper(i) && is_lower(i + 1);
    const bool ends_word = i > 0 && is_upper(i) && is_lower(i - 1);
    if (i > 0 && (begins_word || ends_word) && result.back() != '_') result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return result;
}

// "mine>Scale" -> "Scale", "app::Scale" -> "Scale".
std::string_view base_name(std::string_view name) {
  if (const auto at = name.rfind('>'); at != std::string_view::npos) name.remove_prefix(at + 1);
  if (const auto at = name.rfind("::"); at != std::string_view::npos) name.remove_prefix(at + 2);
  return name;
}

}  // namespace

std::string_view python_class_name(std::string_view class_name) {
  return class_name == "GroupQueryAttention" ? "GroupedQueryAttention" : class_name;
}

std::string snake_case_name(std::string_view class_name) {
  return snake_case(base_name(python_class_name(class_name)));
}

void reset_layer_names() {
  std::lock_guard lock(names().mutex);
  names().counts.clear();
}

std::string unique_layer_name(const std::string& class_name) {
  const std::string base = snake_case_name(class_name);
  std::lock_guard lock(names().mutex);
  const int count = names().counts[base]++;
  return count == 0 ? base : base + "_" + std::to_string(count);
}

std::string Layer::title() const { return titled(class_name(), name()); }

const std::string& Layer::name() const {
  {
    std::lock_guard lock(mutex_);
    if (!name_.empty()) return name_;
  }
  const std::string of_class = class_name();
  std::lock_guard lock(mutex_);
  if (name_.empty()) name_ = unique_layer_name(of_class);
  return name_;
}

Registry<Layer>& Layer::registry() {
  static Registry<Layer>* registry = new Registry<Layer>("Layer");
  return *registry;
}

}  // namespace cohort
