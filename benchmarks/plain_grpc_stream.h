#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace cohort::bench {

// The yardstick: what gRPC's own generated code would do, bytes in messages of 1 MiB on one stream, nothing added.
class PlainServer {
 public:
  PlainServer();
  ~PlainServer();
  const std::string& address() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

class PlainClient {
 public:
  explicit PlainClient(const std::string& address);
  ~PlainClient();
  // Sends 64 bytes and gets 64 back.
  void round_trip();
  // Sends this many messages of 1 MiB, one behind the other, and gets 64 bytes back at the end; the other way round.
  void push(std::size_t messages);
  void pull(std::size_t messages);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cohort::bench
