#pragma once

#include <string>
#include <string_view>

namespace cohort::distribute {

// Where a task listens, taken apart: "localhost:4242", "[::1]:4242". Port 0 means any free one.
struct Address {
  std::string host;  // without brackets
  int port = 0;

  // "host:port", an IPv6 host in brackets.
  std::string to_string() const;
  // With "localhost" as the number it stands for: what sockets are opened for and servers of this process found by.
  std::string numeric() const;
  // Lower case, and an IPv6 address in its shortest form: the same for two spellings of one address.
  std::string normalized() const;
  // 127.x.y.z, ::1 and "localhost": nobody else's machine can reach it.
  bool is_loopback() const;
  friend bool operator==(const Address&, const Address&) = default;
};

// Letters, digits, '.', '-' and '_'.
bool is_host_character(char c);

// A host is a name, an IPv4 address, or an IPv6 address in brackets. Throws InvalidArgument in the name of `who` (an
// owner such as "ClusterSpec 'worker:1'") when the text is no host:port.
Address parse_address(std::string_view text, std::string_view who);

// Of an address of a cluster: the same for all tasks that are at one host.
std::string host_of(std::string_view address);

}  // namespace cohort::distribute
