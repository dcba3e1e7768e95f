#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "cohort/core/error.h"
#include "cohort/distribute/coordinator/closure.h"

namespace cohort::distribute {

// The way to one worker, as the coordinator uses it: one thread starts closures and takes results, in order.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual const std::string& task() const = 0;  // "worker:1"
  // Sends a closure; several may be in flight. Throws Unavailable when the worker is gone.
  virtual void start(const Closure& closure, std::uint64_t all_done_below) = 0;
  // The result of the oldest closure in flight, which is given. Throws what it threw on the worker, DataLoss for a
  // result that cannot be the closure's, or an Error with code Unavailable naming who is gone: the worker itself, or,
  // as a LostParameterServer, a ps it needs.
  virtual ClosureResult finish(const Closure& oldest) = 0;
  // From any thread: closures in flight end soon, with Cancelled.
  virtual void cancel() = 0;
  // After Unavailable: tries to reach the worker (perhaps restarted) once; false when it does not answer.
  virtual bool reconnect() = 0;
};

// Thrown by WorkerLink::finish when it is not the worker that is gone but a server the worker talks to.
class LostParameterServer : public Error {
 public:
  LostParameterServer(std::string ps, const std::string& message);
  const std::string& ps() const { return ps_; }  // "ps:0"

 private:
  std::string ps_;
};
bool is_lost_parameter_server(const std::exception_ptr& error);

}  // namespace cohort::distribute
