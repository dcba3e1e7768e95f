#include "cohort/model/fit/training.h"

namespace cohort {

std::shared_ptr<Program> Training::program(Program::Kind kind) {
  std::lock_guard lock(programs_mutex_);
  std::shared_ptr<Program>& program = programs_[static_cast<std::size_t>(kind)];
  if (!program) program = std::make_shared<Program>(model_, kind);
  return program;
}

void Training::forget_programs() {
  std::lock_guard lock(programs_mutex_);
  programs_ = {};
}

}  // namespace cohort
