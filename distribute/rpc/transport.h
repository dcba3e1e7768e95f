#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/protocol/message.h"

namespace cohort::distribute::rpc {

// Whom one talks to: "worker:1" at "127.0.0.1:4242".
struct Peer {
  std::string task;
  std::string address;
};

// A call that did not come through or was not answered. Its code is Unavailable (the peer or the way to it is gone),
// DeadlineExceeded (no answer in time), Cancelled, ResourceExhausted (the peer serves as many callers as it can), or
// DataLoss (what came was damaged).
class RpcError : public Error {
 public:
  RpcError(ErrorCode code, Peer peer, std::uint64_t incarnation, Method call, std::chrono::nanoseconds elapsed,
           const std::string& reason);
  const Peer& peer() const { return peer_; }
  std::uint64_t incarnation() const { return incarnation_; }
  Method call() const { return call_; }
  std::chrono::nanoseconds elapsed() const { return elapsed_; }
  // "connection refused"
  const std::string& reason() const { return reason_; }
  // Nobody listens there: the task is gone, not only out of reach.
  bool refused() const;

 private:
  Peer peer_;
  std::uint64_t incarnation_;
  Method call_;
  std::chrono::nanoseconds elapsed_;
  std::string reason_;
};

// An ordered way to one task: requests go out, replies come back in the same order. Used by one thread at a time, but
// cancel() is for any.
class Stream {
 public:
  virtual ~Stream() = default;
  // Hands the request over. What its parts point to must not change until the reply is there. Throws only for parts
  // that cannot travel: whatever happens on the way comes out of receive().
  virtual void send(const Message& request) = 0;
  // Waits for the reply to the oldest request that has none; `reply` keeps its memory between calls. Throws what the
  // task threw (its code, its text with the task's name in front; the reply's head is set then, too), or an RpcError.
  virtual void receive(Message& reply) = 0;
  // Whoever waits gets an RpcError, and so does everyone after.
  virtual void cancel() = 0;
  // Hands over a message that nobody answers, behind those before it; what its parts point to must not change any more.
  // Throws an RpcError when the way is known to be broken, or when the task takes nothing in until the deadline: the
  // stream is of no use then. Unimplemented where a stream carries requests only.
  virtual void post(const Message& message, std::chrono::steady_clock::time_point deadline);
  // The same, but what the parts point to may change as soon as it returns.
  virtual void post_copy(const Message& message, std::chrono::steady_clock::time_point deadline);
  // What this one goes through, as Connection::transport() says it.
  virtual const char* transport() const = 0;
  void call(const Message& request, Message& reply) {
    send(request);
    receive(reply);
  }
};

// The way to one task, over which any number of streams run. Thread-safe. Knows when the peer is gone: a reset at once,
// silence after `dead_after`; every wait on its streams then ends.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual std::unique_ptr<Stream> open() = 0;
  // Whether nothing speaks against the peer being there. Waits for nobody. Once open() has found the peer again it is
  // true again.
  virtual bool alive() const = 0;
  // What the peer's Service::progress() has told last; 0 before it has told anything. Waits for nobody.
  virtual std::uint64_t progress() const = 0;
  virtual const Peer& peer() const = 0;
  // "in process", "shared memory", "TCP", "gRPC", ...: what streams go through as a rule. One for which there is no
  // such way goes over gRPC, and later ones try again.
  virtual const char* transport() const = 0;
  // How long nothing has been heard of the peer; nothing where that is not known.
  virtual std::optional<std::chrono::nanoseconds> silence() const { return std::nullopt; }
};

struct TransportOptions {
  // "in_process", "shm", "tcp", "grpc", or "auto": in process where the task is a server of this process, else shared
  // memory where it is on this host, else as "tcp". That is a socket of its own for each stream beside gRPC, where one
  // comes about, else gRPC alone.
  std::string transport = "auto";
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds heartbeat{1000};
  std::chrono::milliseconds dead_after{5000};
  // With heartbeats often enough to tell.
  void set_dead_after(std::chrono::milliseconds silence) {
    dead_after = silence;
    heartbeat = std::min(heartbeat, silence / 5);
  }
  // How this task proves who it is; nullptr: it need not, and calls addresses of this machine alone.
  std::shared_ptr<const Security> security = nullptr;
  // Who calls: told to the task's service for as long as the way holds; 0: nobody it cares for.
  std::uint64_t caller = 0;
  // Tests wrap connections to make them lose, repeat and reorder messages.
  std::function<std::shared_ptr<Connection>(std::shared_ptr<Connection>)> wrap = {};
};

// Throws Unavailable with the reason ("connection refused") when nobody answers there.
std::shared_ptr<Connection> connect(const Peer& peer, const TransportOptions& options = {});

// What a task does with requests. Called from service threads, any number at once; what it throws becomes the reply.
// The reply is empty at first and gets its request's method and sequence at last. A large part of it is sent from where
// it lies, and its buffer has one more owner until the network has it.
class Service {
 public:
  virtual ~Service() = default;
  virtual void handle(const Message& request, Message& reply) = 0;
  // Throws where a caller that has proven who it is must not ask this. Not called for others: they reach this machine's
  // own addresses alone.
  virtual void check_caller(const TaskIdentity&, const Message&) const {}
  // Whether it is likely to handle a request in less time than another thread takes to wake up. The thread that has
  // read such a request answers it without waking another one; when it takes longer after all, another one goes on
  // reading.
  virtual bool is_quick(const Message&) const { return false; }
  // Whether it reads the part of a message of Method::Exchange that nobody answers itself: a large one then comes as
  // Message::unread, and its sum has not been checked.
  virtual bool takes_unread() const { return false; }
  // A number that grows while the task gets on with its work for a caller, as that names itself (0: for all).
  // Heartbeats tell it, so it waits for nobody.
  virtual std::uint64_t progress(std::uint64_t) const { return 0; }
  // A caller that names itself has a way to here, perhaps a further one; and that way has ended. Must not wait.
  virtual void caller_came(std::uint64_t) {}
  virtual void caller_left(std::uint64_t) {}
};

// What a server takes upon itself at most, whoever calls.
struct ServingLimits {
  // Threads that wait for the network at once; 0: one for every two cores, but no more than 4.
  int network_threads = 0;
  // Threads in all; requests beyond wait.
  int threads = 512;
  // Streams of all callers, and connections; further ones are refused.
  int streams = 4096;
  // Of those, the ones through shared memory or sockets of their own, which have a thread each; further ones go over
  // gRPC.
  int carried_streams = 256;
  // Whether any go through shared memory.
  bool shares_memory = true;
  // Connections that have said nothing yet, and those without a call that was admitted; beyond, the oldest are cut off.
  int silent_connections = 1024, unproven_connections = 512;
  // How long a connection may be either.
  std::chrono::milliseconds connection_patience{5000};
  // Streams of one connection; further ones wait for others to end.
  int streams_per_connection = 1024;
  // Bytes of all messages of more than a chunk that are being received or handled; 0: three quarters of the machine's.
  std::uint64_t message_bytes = 0;
  // Likewise, of one connection; 0: half of the machine's memory.
  std::uint64_t message_bytes_per_connection = 0;
  // How long a message waits for others to make room before it is refused.
  std::chrono::milliseconds message_wait{60'000};
};

// Listens on "host:port" (port 0: a free one) for gRPC and sockets of streams, for callers that share memory, and for
// callers of this process.
// A port that is taken is an error, and so are other addresses than loopback ones without security.
class Listener {
 public:
  Listener(const std::string& address, Service& service, const std::string& task, const ServingLimits& limits = {},
           const Security* security = nullptr);
  ~Listener();
  Listener(const Listener&) = delete;
  // With the port that was chosen.
  const std::string& address() const;
  // Returns when all that was asked is answered, and the answers are on their way, or at that time.
  void await_answers(std::chrono::steady_clock::time_point until) const;
  // No request is being handled any more when it returns; callers get Unavailable. Not for use inside handle().
  void stop();

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute::rpc
