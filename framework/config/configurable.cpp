#include "cohort/config/configurable.h"

#include <cxxabi.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <typeindex>
#include <unordered_map>

namespace cohort {
namespace {

struct ClassName {
  std::string name, module;
};
struct ClassNames {
  std::shared_mutex mutex;
  std::unordered_map<std::type_index, ClassName> by_type;
};
// Never destroyed: objects in static storage may ask for their names at exit.
ClassNames& class_names() {
  static auto* names = new ClassNames;
  return *names;
}

std::optional<ClassName> registered_class(const std::type_info& type) {
  ClassNames& names = class_names();
  std::shared_lock lock(names.mutex);
  const auto found = names.by_type.find(type);
  if (found == names.by_type.end()) return std::nullopt;
  return found->second;
}

// "app::Scale" -> "Scale"
std::string plain_class_name(const std::type_info& type) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : type.name();
  std::free(demangled);
  name = name.substr(0, name.find('<'));
  const auto scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace

void remember_class_name(const std::type_info& type, const std::string& name, const std::string& module) {
  const bool of_user = name.find('>') != std::string::npos;
  std::unique_lock lock(class_names().mutex);
  class_names().by_type.emplace(type, ClassName{name, of_user ? std::string() : module});
}

std::string Configurable::class_name() const {
  const std::optional<ClassName> registered = registered_class(typeid(*this));
  return registered ? registered->name : plain_class_name(typeid(*this));
}

std::string Configurable::module_name() const {
  const std::optional<ClassName> registered = registered_class(typeid(*this));
  return registered ? registered->module : std::string();
}

void FieldVisitor::field(const char* name, std::optional<AttributeValue>& value) {
  if (!reads_config()) return write(name, value ? ConfigValue(*value) : ConfigValue());
  const std::optional<ConfigValue> given = read_attribute(name);
  if (!given) return;
  value.reset();
  if (const auto* attribute = given->get<AttributeValue>()) value = *attribute;
}

}  // namespace cohort
