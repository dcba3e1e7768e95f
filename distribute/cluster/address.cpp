#include "cohort/distribute/cluster/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

// Hexadecimal groups, perhaps a dotted tail and a zone ("fe80::1%eth0").
bool is_ipv6_character(char c) { return is_name_character(c) || c == ':' || c == '%'; }

std::string host_and_port(const std::string& host, int port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool parse_port(std::string_view text, int& port) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  // from_chars takes a minus sign, a port has none.
  return problem == std::errc() && end == text.data() + text.size() && text.front() != '-' && port <= 65535;
}

}  // namespace

std::string Address::to_string() const { return host_and_port(host, port); }

std::string Address::numeric() const { return host_and_port(host == "localhost" ? "127.0.0.1" : host, port); }

bool Address::is_loopback() const {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

Address parse_address(std::string_view text, std::string_view who) {
  const auto refuse = [&](std::string_view fix) {
    return invalid_argument(who, "an address must be host:port with a port from 0 to 65535", {{"address", text}}, fix);
  };
  if (text.find("://") != std::string_view::npos) throw refuse("Leave the scheme out: \"localhost:4242\".");
  const std::size_t colon = text.rfind(':');
  const bool bracketed = !text.empty() && text.front() == '[';
  if (colon == std::string_view::npos || (bracketed && colon < text.find(']')))
    throw refuse("Add the port: \"localhost:4242\".");

  Address address;
  if (!parse_port(text.substr(colon + 1), address.port)) throw refuse("Write the port as a number.");
  std::string_view host = text.substr(0, colon);
  if (bracketed) {
    if (host.size() < 4 || host.back() != ']') throw refuse("Write an IPv6 address as \"[::1]:4242\".");
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos || !std::all_of(host.begin(), host.end(), is_ipv6_character))
      throw refuse("Brackets are for IPv6 addresses: \"[::1]:4242\".");
  } else {
    if (host.empty()) throw refuse("Name the host: \"localhost:4242\".");
    if (host.find(':') != std::string_view::npos) throw refuse("Put brackets around an IPv6 address: \"[::1]:4242\".");
    if (!std::all_of(host.begin(), host.end(), is_name_character))
      throw refuse("A host has letters, digits, '.', '-' and '_' only.");
  }
  address.host = host;
  return address;
}

}  // namespace cohort::distribute
