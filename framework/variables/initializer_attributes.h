#pragma once

#include <memory>
#include <optional>

#include "cohort/core/attributes.h"
#include "cohort/variables/initializer.h"

namespace cohort {

// An initializer's class and fields as an op's attributes: "class" and one "field.<name>" for each field that is set. A
// seed that is not set is drawn from the process's next one, as the initializer would draw it when called. None when a
// field cannot be an attribute.
std::optional<Attributes> write_initializer(const Initializer& initializer);
// The reverse; every attribute is checked before it is believed.
std::shared_ptr<Initializer> read_initializer(const Attributes& attributes);

// What a call of the op "InitialValue" with these attributes gives: beside the initializer's own, "shape" and "dtype"
// of the whole value, and which rows of it are wanted ("first_row", "rows"; both 0 for a scalar).
Tensor compute_initial_value(const Attributes& attributes);

}  // namespace cohort
