#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cohort/core/tensor.h"
#include "cohort/distribute/protocol/unread_part.h"

namespace cohort::distribute {

inline constexpr std::uint16_t kProtocolVersion = 1;

// What a message asks a task to do.
enum class Method : std::uint16_t {
  Hello = 1,       // the handshake: protocol, job, task, incarnation
  Echo,            // gives back what it got: benchmarks and tests
  CreateVariable,  // on a ps: makes a variable of an initial graph, or adopts the one that is there
  RegisterServer,  // on a ps: its parts of a function
  RegisterWorker,  // on a worker: the rest of it
  CreatePipeline,  // on a worker: a dataset to take elements from
  RunGraph,        // on a ps: a small graph at once, for the chief's own reads and writes
  Exchange,        // on a ps: what a worker pushes, and the values it gets back
  RunClosure,      // on a worker: some steps of a function
  Cancel,          // on a worker: ends closures between two steps
  EndJob,          // the chief is done: whoever waits in Server::join() returns
  Progress,        // how far a task of the job has come; answered at once, whatever it is doing
  ReachPs,         // on a worker: whether it can reach every ps of the job
  Fence,           // on a ps: nothing of an earlier epoch is applied once it is answered
  Release,         // what the chief has let go of
  Status,          // how a task is doing, for anybody: of no job
  Trace,           // begins to note what is done when, or ends it and gives what was noted
  Join,            // on ps:0: a worker says where it is reached, and again every few seconds; of no job
  Leave,           // on ps:0: it will not be there any more
  Members,         // on ps:0: the workers that have joined, once they are others than the caller knows
  // Sessions, whose id is the head's job; any task can be a session's master.
  OpenSession,    // on a master: a client comes
  ExtendSession,  // on a master: the client's graph has grown
  RunSession,     // on a master: some values of the graph are wanted
  CloseSession,   // on a master: the client goes
  ListDevices,    // what a task computes on
  RegisterPart,   // of a session's graph, by its master
  RunPart,        // that was registered
  ReleaseParts,   // some of a session's, or all that it has on the task
};
const char* to_string(Method method);

// A random number that is never 0, for jobs and incarnations.
std::uint64_t new_identity();

// The fixed part of every message. A reply repeats its request's method and sequence.
struct Head {
  Method method = Method::Echo;
  std::uint16_t flags = 0;
  std::uint32_t round = 0;           // of a step's exchanges with one server
  std::uint64_t job = 0;             // which chief's job it belongs to
  std::uint64_t incarnation = 0;     // of the sender
  std::uint64_t sequence = 0;        // of the request, counted by whoever sends it; the same when sent again
  std::uint64_t function = 0;        // handle of a registered function
  std::uint64_t closure = 0;         // its id; the same in every attempt
  std::uint64_t step = 0;            // of the closure
  std::uint64_t version = 0;         // of a server's variables
  std::uint64_t all_done_below = 0;  // closures with smaller ids have finished
  // Counts the cancels and fences of a job: what was begun before the newest one that a task has heard of is over.
  std::uint64_t epoch = 0;
};

// One message: a head, the method's own protobuf (small), and tensors, which are copied as seldom as the way allows.
struct Message {
  Head head;
  std::string meta;
  Tensors parts;
  // The only part, in the place of parts, for a service that takes it so.
  std::shared_ptr<UnreadPart> unread = nullptr;
};

}  // namespace cohort::distribute
