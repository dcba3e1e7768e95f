#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

using NestedLists = std::vector<std::vector<std::int64_t>>;

// What a FieldVisitor implements besides when it knows fields that are lists of lists, as the paddings of several axes.
class NestedListVisitor {
 public:
  virtual ~NestedListVisitor() = default;
  virtual void nested_field(const char* name, NestedLists& value) = 0;
};

// Shows such a field to a visitor; an error when it does not know them.
inline void visit_nested(FieldVisitor& visitor, const char* name, NestedLists& value) {
  auto* knows = dynamic_cast<NestedListVisitor*>(&visitor);
  if (!knows) throw unimplemented("config", "a visitor that knows lists of lists is expected", {{"field", name}});
  knows->nested_field(name, value);
}

}  // namespace cohort
