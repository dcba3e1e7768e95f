#pragma once

#include <string>
#include <string_view>

namespace cohort::distribute::rpc {

// "host:port", "[::1]:port": taken apart, and judged.
struct Address {
  std::string host;
  int port = 0;

  // Throws InvalidArgument, naming `who`, unless the text is a host and a port in 0..65535.
  static Address parse(std::string_view text, std::string_view who);
  // 127.x.y.z, ::1 and "localhost": nobody else's machine can reach it.
  bool is_loopback() const;
  // With the host as given, IPv6 in brackets.
  std::string to_string() const;
  // With "localhost" as the number it stands for: what sockets are opened for and servers of this process found by.
  std::string numeric() const;
};

}  // namespace cohort::distribute::rpc
