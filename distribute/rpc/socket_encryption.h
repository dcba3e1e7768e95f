#pragma once

#include <chrono>
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
  SocketEncryption(int socket, Side side, std::string key);
  ~SocketEncryption();
  SocketEncryption(const SocketEncryption&) = delete;

  // Goes on with the handshake; true when it is done.
  bool greet();
  // The next bytes that have come; 0: none for now, or none any more.
  std::size_t read(std::span<char> to);
  // Encrypts all of them. They are on their way when flush() says so.
  void write(std::span<const char> bytes);
  // Sends what is encrypted; true when all of it is on its way.
  bool flush();
  // Whether nothing comes and goes any more: the other side has ended, or what it sent was not in order.
  bool has_ended() const;

 private:
  class Body;
  const std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute::rpc
