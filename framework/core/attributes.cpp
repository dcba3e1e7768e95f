#include "cohort/core/attributes.h"

#include <algorithm>
#include <sstream>

#include "cohort/core/text.h"

namespace cohort {
namespace {

template <class T>
std::string list(const std::vector<T>& values) {
  std::ostringstream text;
  text << '[';
  for (std::size_t i = 0; i < values.size(); ++i) text << (i ? ", " : "") << values[i];
  text << ']';
  return text.str();
}

}  // namespace

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

void Attributes::set(std::string_view name, AttributeValue value) {
  for (Entry& entry : entries_) {
    if (entry.name == name) {
      entry.value = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::string(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; });
}

void Attributes::missing(std::string_view name) {
  throw invalid_argument("Attributes", "an attribute of that name and type is expected", {{"name", name}});
}

std::string to_string(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>)
          return v ? "true" : "false";
        else if constexpr (std::is_same_v<T, std::string>)
          return '"' + v + '"';
        else if constexpr (std::is_same_v<T, Shape>)
          return v.to_string();
        else if constexpr (std::is_same_v<T, DType>)
          return to_string(v);
        else if constexpr (std::is_same_v<T, Tensor>)
          return v.num_elements() <= 1 ? v.to_string() : v.spec().to_string();
        else if constexpr (std::is_same_v<T, std::shared_ptr<const Graph>>)
          return "<graph>";
        else if constexpr (std::is_arithmetic_v<T>) {
          std::ostringstream text;
          text << v;
          return text.str();
        } else
          return list(v);
      },
      value);
}

bool equal(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        const T& right = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>)
          return left.same_as(right);
        else
          return left == right;
      },
      a);
}

std::string Attributes::to_string() const {
  return join(entries_, [](const Entry& entry) { return entry.name + "=" + cohort::to_string(entry.value); });
}

bool operator==(const Attributes& a, const Attributes& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Attributes::Entry& entry) {
           const AttributeValue* other = b.find(entry.name);
           return other && equal(entry.value, *other);
         });
}

}  // namespace cohort
