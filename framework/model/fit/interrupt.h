#pragma once

namespace cohort {

// While one lives, Ctrl-C (SIGINT) and SIGTERM are noted instead of ending the process; a second one of the same kind
// does what it did before. Scopes nest; the handlers that were there come back with the last one.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  // True once one of the two came.
  bool interrupted() const;
  // True once SIGTERM came: whoever runs this machine wants the process to end.
  bool terminated() const;
};

}  // namespace cohort
