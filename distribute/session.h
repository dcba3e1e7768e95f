#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/cluster/security_options.h"
#include "cohort/distribute/session_graph.h"

namespace cohort::distribute {

// What a session is opened with.
struct SessionOptions {
  // Variables are the session's own and go with it; else all sessions that name the same container share them, and they
  // stay for as long as their tasks run.
  bool private_variables = false;
  // Where a task does not have a device that is asked for, its CPU is taken; else that is an error.
  bool soft_placement = false;
  // Logs where each op and variable is when it is first run, as placement() has it.
  bool log_device_placement = false;
  // Seconds that a run may take; then it fails and names the task that was waited for.
  double run_timeout = 600.0;
  // Seconds that the server may take to come up.
  double start_timeout = 10.0;
  // How the server is reached: "auto" (in process where it can, else by shared memory on this host, else as "tcp"),
  // "shm", "tcp" (sockets beside gRPC), "grpc".
  std::string transport = "auto";
  // How this client proves who it is; a worker's or ps's certificate may not open sessions.
  SecurityOptions security = {};
};

// What a run is asked for: a value of the graph, or an operation.
class Fetch {
 public:
  // This value.
  Fetch(const Tensor& value) : value_(value) {}
  // To be run.
  Fetch(const Operation& operation) : operation_(operation) {}

 private:
  friend class Session;
  Tensor value_;
  Operation operation_;
};

// Values that a run is given: of placeholders, or of any other values in place of computing them.
using Feeds = std::vector<std::pair<Tensor, Tensor>>;

// A client's way to run a graph on a cluster. Any server can be a session's master: it places the graph's ops on the
// tasks and devices they ask for, cuts it there, and lets each task run its part. Ops that ask for nothing run on the
// master's default device. A session whose client is gone is closed after some seconds. Thread-safe: several threads
// may run at once.
class Session {
 public:
  // Opens a session at a server.
  //   target: Server::target(), "grpc://host:port".
  Session(const std::string& target, SessionGraph graph, SessionOptions options = {});
  // Closes it.
  ~Session();
  Session(const Session&) = delete;

  // Gives the server what the graph has gained, to be checked there. Each run does that, too.
  void extend();
  // The value of one fetch; undefined for an operation.
  Tensor run(const Fetch& fetch, const Feeds& feeds = {});
  // The values of several, of operations undefined ones. Only what they need is run, each node at most once.
  Tensors run(std::initializer_list<Fetch> fetches, const Feeds& feeds = {});
  Tensors run(const std::vector<Fetch>& fetches, const Feeds& feeds = {});
  // Ends the session; its own variables go. Nothing where it is closed.
  void close();

  // The task it was opened at, "worker:0".
  const std::string& master() const;
  // Where ops and variables of the runs so far are, each once: "add: (Add) /job:ps/replica:0/task:0/device:CPU:0". Only
  // with log_device_placement.
  std::vector<std::string> placement() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute
