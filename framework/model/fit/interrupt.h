#pragma once

namespace cohort {

// While one lives, Ctrl-C (SIGINT) is noted instead of ending the process; a second Ctrl-C does what it did before.
// Scopes nest; the handler that was there comes back with the last one.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  // True once Ctrl-C was pressed.
  bool interrupted() const;
};

}  // namespace cohort
