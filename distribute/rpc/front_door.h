#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cohort/distribute/rpc/listening_sockets.h"

namespace cohort::distribute::rpc {

// What those may take who have not proven yet that they have business here.
struct DoorLimits {
  // Connections that have not said what begins one, and those that have but have no call yet; beyond these numbers the
  // oldest one is cut off. A quarter each of the files that this process may open is the most.
  int waiting = 1024, strangers = 512;
  // How long they may take over either.
  std::chrono::milliseconds patience{5000};
  // Of one host: so many at once, and so many a second after that; those beyond wait. Whoever turns out to have
  // business here does not count.
  int burst = 256, per_second = 50;
};

// Where callers come in. A connection is handed on once it has said all that begins one, so that thousands that say
// nothing cost next to nothing, and is cut off again unless it makes a call that is admitted. Unlike gRPC's own
// listener it goes on listening when this process runs out of files. Thread-safe.
class FrontDoor {
 public:
  // Listens from now on.
  //   encrypted: callers begin with TLS; else with HTTP/2.
  FrontDoor(const Address& address, const std::string& task, bool encrypted, const DoorLimits& limits = {});
  ~FrontDoor();
  FrontDoor(const FrontDoor&) = delete;
  int port() const { return listening_.port(); }

  bool encrypted() const { return encrypted_; }

  // Takes a connection's socket, for good.
  using Enter = std::function<void(int listener, int connection)>;
  // Lets callers in.
  void open(Enter enter);
  // Nobody comes in any more.
  void close();
  // Of a connection that brings this token the socket is handed over, once; in between these two. `take` must not wait.
  void expect(const std::string& token, std::function<void(int socket)> take);
  void expect_no_more(const std::string& token);
  // A call of this connection, "ipv4:127.0.0.1:4242" as gRPC names it, has been admitted.
  void admitted(const std::string& connection);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    int socket = -1;
    std::string host, name;
    Clock::time_point end = {};
    bool ready = false;  // to be handed on
  };
  struct Allowance {
    double left = 0;
    Clock::time_point at = {};
  };
  using Connections = std::map<std::uint64_t, Connection>;  // the oldest first

  void run();
  void take_callers(int listener);
  void look_at(std::uint64_t id);
  void hand_over(Connections::iterator bringer);
  void hand_on();
  void expire();
  bool allow(const std::string& host);
  void give_back(const std::string& host);
  void watch(int socket, std::uint64_t id, std::uint32_t events) const;
  void cut_off(Connections& connections, Connections::iterator which);
  void forget(Connections::iterator stranger);

  const bool encrypted_;
  const DoorLimits limits_;
  ListeningSockets listening_;
  const int events_, wake_;
  Enter enter_;
  std::vector<int> entering_;  // the thread's own, like the next one
  bool out_of_files_ = false;
  std::mutex mutex_;  // guards what follows
  bool closing_ = false;
  std::uint64_t next_ = 0;
  Connections waiting_, strangers_;
  std::map<std::string, std::uint64_t> by_name_;              // the strangers
  std::map<std::string, std::function<void(int)>> expected_;  // by token
  std::map<std::string, Allowance> allowances_;               // by host, of those that have used some
  std::thread thread_;
};

}  // namespace cohort::distribute::rpc
