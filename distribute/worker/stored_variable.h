#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cohort/distribute/worker/reservation.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {

// A variable as a ps holds it. Its value and `written` are used under a Reservation.
struct StoredVariable : Reservable {
  StoredVariable(std::shared_ptr<LocalVariable> body, std::uint64_t written, std::shared_ptr<void> memory = {})
      : memory(std::move(memory)), body(std::move(body)), handle(Tensor::of_resource(this->body)), written(written) {}
  const std::shared_ptr<void> memory;  // counts the value's bytes until it is gone
  const std::shared_ptr<LocalVariable> body;
  const Tensor handle;
  std::uint64_t written;  // version of the ps when it was last written to
};
using StoredVariables = std::vector<std::shared_ptr<StoredVariable>>;

}  // namespace cohort::distribute
