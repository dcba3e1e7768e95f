#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cohort/distribute/rpc/socket_encryption.h"

namespace cohort::distribute::rpc {

// What a connection begins with that is no call but brings the bytes of one: this mark, then a token that the task has
// told the caller.
inline constexpr std::string_view kSocketMark = "CHRTTCP1";
inline constexpr std::size_t kSocketTokenBytes = 32;

// How the socket of a stream is found, and read: the task makes it up and tells it over gRPC.
struct SocketTicket {
  std::string token;
  std::string key;  // empty: bytes go as they are
};

// One end of a TCP connection for the bytes of a stream, encrypted where it has a key. Never blocks but in wait(). Used
// by one thread at a time, but interrupt() is for any.
class DataSocket {
 public:
  using Clock = std::chrono::steady_clock;
  // The caller's: connects to where the call went, "ipv4:127.0.0.1:4242" as gRPC names it, and waits to be welcomed.
  // nullptr when that does not happen in time.
  static std::unique_ptr<DataSocket> call(const std::string& peer, const SocketTicket& ticket,
                                          Clock::time_point deadline);
  // The task's, of a connection that has brought the token. nullptr when it does not know the key, or it is over.
  static std::unique_ptr<DataSocket> welcome(int socket, const std::string& key, Clock::time_point deadline,
                                             const std::function<bool()>& is_over);
  ~DataSocket();
  DataSocket(const DataSocket&) = delete;

  // Whether what comes is what was sent: it is encrypted, or has never left this machine.
  bool is_sound() const { return encryption_ || on_this_machine_; }
  // What has come, into one room after the other. 0: nothing for now, or nothing more: see is_closed().
  std::size_t read(std::span<const iovec> rooms);
  // Takes bytes from the first of these pieces on and returns how many; 0: there is no room for now.
  std::size_t write(std::span<const iovec> pieces);
  // Whether everything taken is on its way.
  bool flush() { return !encryption_ || encryption_->flush(); }

  // Waits until there may be bytes, or room, or somebody interrupts; so long at most.
  void wait(bool for_bytes, bool for_room, std::chrono::nanoseconds longest);
  // Ends the connection: nobody waits for it any more, and nothing further comes.
  void interrupt();
  // Whether the other side's system has not acknowledged anything for so long, though it was asked to every second: the
  // way there is broken, be others as they may.
  bool is_silent(std::chrono::milliseconds longest) const;
  // Nothing is written any more; what was written still arrives.
  void close();
  // The other side has, or is gone.
  bool is_closed() const { return closed_ || (encryption_ && encryption_->has_ended()); }

 private:
  // Takes the socket.
  explicit DataSocket(int socket) : socket_(socket) {}
  void set_up(SocketEncryption::Side side, const std::string& key);
  // Makes both sides sure of one another.
  bool greet(SocketEncryption::Side side, Clock::time_point deadline, const std::function<bool()>& is_over);
  bool greet_plainly(SocketEncryption::Side side, const std::function<bool()>& go_on);
  bool read_all(std::span<char> room, const std::function<bool()>& go_on);
  // What a call of the system that moved nothing means.
  std::size_t nothing_moved();

  const int socket_;
  std::optional<SocketEncryption> encryption_;
  bool on_this_machine_ = false;
  bool closed_ = false;
};

}  // namespace cohort::distribute::rpc
