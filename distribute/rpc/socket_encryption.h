#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cohort::distribute::rpc {

inline constexpr std::size_t kSocketKeyBytes = 32;

// TLS 1.3 between two that know the same key: nobody else gets past its handshake. The keys of each connection are
// agreed upon afresh, so that this one opens nothing later. The socket never blocks; no function waits for it. Used by
// one thread at a time.
class SocketEncryption {
 public:
  enum class Side { Caller, Task };
  // After so many bytes a sender takes the next key: a sixth of what one is good for with AES-GCM.
  static constexpr std::uint64_t kBytesOfAKey = std::uint64_t{64} << 30;
  SocketEncryption(int socket, Side side, std::string key, std::uint64_t bytes_of_a_key = kBytesOfAKey);
  ~SocketEncryption();
  SocketEncryption(const SocketEncryption&) = delete;

  // Goes on with the handshake; true when it is done.
  bool greet();
  // The next bytes that have come; 0: none for now, or none any more. What is in `to` behind them means nothing.
  std::size_t read(std::span<char> to);
  // Encrypts bytes of these pieces from the first one on and returns how many; 0: there is no room for now. They are on
  // their way when flush() says so.
  std::size_t write(std::span<const iovec> pieces);
  // Sends what is encrypted; true when all of it is on its way.
  bool flush();
  // Whether nothing comes and goes any more: the other side has ended, or what it sent was not in order.
  bool has_ended() const;

 private:
  class Body;
  const std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute::rpc
