#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/config/configurable.h"
#include "cohort/config/nested_numbers.h"
#include "cohort/core/attributes.h"

namespace cohort {

using NestedLists = std::vector<std::vector<std::int64_t>>;
using NumberDict = std::map<std::string, double>;

// What a FieldVisitor implements besides when it knows fields that few classes have: lists of lists (the paddings of
// several axes), dicts of numbers, arrays, and fields whose type the file decides.
class RareFieldVisitor {
 public:
  virtual ~RareFieldVisitor() = default;
  virtual void rare_field(const char* name, NestedLists& value) = 0;
  virtual void rare_field(const char* name, NestedNumbers& value) = 0;
  virtual void rare_field(const char* name, std::optional<NestedNumbers>& value) = 0;   // empty: null
  virtual void rare_field(const char* name, std::optional<NumberDict>& value) = 0;      // empty: null
  virtual void rare_field(const char* name, std::optional<AttributeValue>& value) = 0;  // empty: null
};

// Shows such a field to a visitor; an error when it does not know them.
template <class T>
void visit_rare(FieldVisitor& visitor, const char* name, T& value) {
  auto* knows = dynamic_cast<RareFieldVisitor*>(&visitor);
  if (!knows)
    throw unimplemented("config", "a visitor that knows lists of lists and dicts is expected", {{"field", name}});
  knows->rare_field(name, value);
}

}  // namespace cohort
