#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace cohort::test {

// Passes bytes between callers and one server, sees how far a caller's exchange of large messages has come, and can
// stop them on the way.
class TcpProxy {
 public:
  enum class Hold { Nothing, Requests, Replies, Everything };
  // How many large messages a caller has got through; what is held up does not count.
  struct Traffic {
    std::uint64_t requests = 0, replies = 0;
    bool held = false;        // another one waits at the proxy, whole
    std::uint64_t bytes = 0;  // both ways, of whatever
  };

  // Requests and replies below `payload` bytes are not counted.
  TcpProxy(std::string target, std::size_t payload);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;

  const std::string& address() const { return address_; }
  // What callers send or get stays here, but for callers of this process.
  void hold(Hold what) { hold_ = what; }
  // The same for one process only; 0: for all again.
  void hold_only(pid_t caller, Hold what) {
    held_caller_ = caller;
    hold_ = what;
  }
  // While the lock is held no byte moves.
  [[nodiscard]] std::unique_lock<std::mutex> freeze() { return std::unique_lock(mutex_); }
  // Of a process, over all its connections; under freeze().
  Traffic traffic_of(pid_t caller) const;
  // Closes a process's connections, and what they hold is lost; under freeze().
  void drop(pid_t caller);
  // Closes everyone's, likewise.
  void cut();
  // From now on nothing passes in any direction and nobody is let in; or everything again.
  void set_silent(bool silent) { silent_ = silent; }
  // A process's connections are closed, now and whenever it comes; 0: nobody's.
  void bar(pid_t caller);
  // Replies to everyone so far.
  std::uint64_t replies() const { return replies_; }

 private:
  struct Connection {
    int client = -1, server = -1;
    pid_t caller = 0;
    std::string up, down;                          // read, not yet passed on
    std::size_t up_counted = 0, down_counted = 0;  // bytes of the message that is passing
    Traffic traffic = {};
    bool over = false;
  };
  void run();
  void accept();
  void move(Connection& connection, short client_events, short server_events);
  void count_up(Connection& connection, std::size_t bytes);
  void count_down(Connection& connection, std::size_t bytes);
  bool holds(const Connection& connection, Hold what) const;

  const std::string target_;
  const std::size_t payload_;
  std::string address_;
  int listener_ = -1;
  std::atomic<Hold> hold_ = Hold::Nothing;
  std::atomic<std::uint64_t> replies_ = 0;
  std::atomic<bool> stopping_ = false, silent_ = false;
  std::atomic<pid_t> barred_ = 0, held_caller_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::list<Connection> connections_;
  std::thread thread_;
};

}  // namespace cohort::test
