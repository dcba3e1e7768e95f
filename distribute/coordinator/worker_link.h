#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/coordinator/closure.h"

namespace cohort::distribute {

// Steps of closures that a worker has finished, and the time they took there.
struct StepTimes {
  std::uint64_t steps = 0, nanoseconds = 0;
};

// The way to one worker, as the coordinator uses it: one thread starts closures and takes results, in order.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual const std::string& task() const = 0;  // "worker:1"
  // Sends a closure; several may be in flight. Throws Unavailable when the worker is gone.
  virtual void start(const Closure& closure) = 0;
  // The result of the oldest closure in flight, which is given. Throws what it threw on the worker, DataLoss for a
  // result that cannot be the closure's, or an Error with code Unavailable naming who is gone: the worker itself (also
  // when it cannot reach a ps that others can), or, as a LostParameterServer, a ps that nobody can reach.
  virtual ClosureResult finish(const Closure& oldest) = 0;
  // False once the worker has left: it gets no more closures until it is there again. Does not wait.
  virtual bool wanted() const { return true; }
  // False when the worker is known to be gone; does not wait.
  virtual bool alive() = 0;
  // After Unavailable: whether the worker was there when the oldest closure in flight came to it.
  virtual bool began() const = 0;
  // Which process the worker is; 0 when the last attempt to reach it has failed.
  virtual std::uint64_t incarnation() const = 0;
  // From any thread: closures in flight end soon, with Cancelled.
  virtual void cancel() = 0;
  // From any thread: a number that changes while the worker gets on with what it was given; nothing while nobody waits
  // for it.
  virtual std::optional<std::uint64_t> movement() = 0;
  // From any thread: what it has done so far, as it says itself; and how many closures it has now.
  virtual StepTimes step_times() const { return {}; }
  virtual std::size_t in_flight() const { return 0; }
  // From any thread: whoever waits for the worker gets Unavailable, with these words.
  virtual void abandon(const std::string& why) = 0;
  // After Unavailable: tries to reach the worker (perhaps restarted) once; false when it does not answer, or cannot
  // work yet. Throws LostParameterServer when a ps is found to be gone.
  virtual bool reconnect() = 0;
};

std::vector<std::string> task_names_of(const std::vector<std::shared_ptr<WorkerLink>>& links);

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
