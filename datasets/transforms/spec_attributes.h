#pragma once

#include "cohort/core/attributes.h"
#include "cohort/data/element.h"

namespace cohort::datasets {

// Structure, types and shapes of elements as attributes of a stage.
void add_element_spec(const ElementSpec& spec, Attributes& attributes);
// And back; throws unless the attributes hold them.
//   who: the transform, for errors.
ElementSpec element_spec_of(const char* who, const Attributes& attributes);
// Whether elements like `given` are elements like `expected`: of its structure and types, and of shapes that fit.
bool fits_spec(const ElementSpec& expected, const ElementSpec& given);

}  // namespace cohort::datasets
