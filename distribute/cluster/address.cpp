#include "cohort/distribute/cluster/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

// In its shortest form, with its zone ("fe80::1%eth0"); empty: it is none.
std::string shortest_ipv6(std::string_view host) {
  const std::size_t zone = std::min(host.find('%'), host.size());
  in6_addr number{};
  if (inet_pton(AF_INET6, std::string(host.substr(0, zone)).c_str(), &number) != 1) return {};
  const std::string_view name = host.substr(zone);
  if (name.size() == 1 || !std::all_of(name.begin() + !name.empty(), name.end(), is_host_character)) return {};
  char text[INET6_ADDRSTRLEN] = {0};
  inet_ntop(AF_INET6, &number, text, sizeof text);
  return text + std::string(name);
}

// A host's name, or an IPv4 address: parts between dots of 1 to 63 characters, no hyphen at their ends. What is wrong
// with it; empty: nothing.
std::string_view problem_of(std::string_view host) {
  if (!std::all_of(host.begin(), host.end(), is_host_character))
    return "A host has letters, digits, '.', '-' and '_' only.";
  if (host.size() > 253) return "A host's name has 253 characters at most.";
  const bool numbers = host.find('.') != std::string_view::npos &&
                       std::all_of(host.begin(), host.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  in_addr number{};
  if (numbers && inet_pton(AF_INET, std::string(host).c_str(), &number) != 1)
    return "An IPv4 address has four numbers from 0 to 255.";
  // A dot at the end says that the name is complete.
  if (host.ends_with('.')) host.remove_suffix(1);
  for (std::size_t at = 0; at <= host.size();) {
    const std::size_t end = std::min(host.find('.', at), host.size());
    const std::string_view part = host.substr(at, end - at);
    if (part.empty() || part.size() > 63 || part.front() == '-' || part.back() == '-')
      return "Between dots a host's name has 1 to 63 characters, and no '-' first or last.";
    at = end + 1;
  }
  return {};
}

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

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

std::string Address::to_string() const { return host_and_port(host, port); }

std::string Address::numeric() const { return host_and_port(host == "localhost" ? "127.0.0.1" : host, port); }

std::string Address::normalized() const {
  std::string same = shortest_ipv6(host);
  if (same.empty()) same = host;
  std::transform(same.begin(), same.end(), same.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return host_and_port(same, port);
}

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
    if (host.back() != ']') throw refuse("Write an IPv6 address as \"[::1]:4242\".");
    host = host.substr(1, host.size() - 2);
    if (shortest_ipv6(host).empty()) throw refuse("Brackets are for IPv6 addresses: \"[::1]:4242\".");
  } else {
    if (host.empty()) throw refuse("Name the host: \"localhost:4242\".");
    if (host.find(':') != std::string_view::npos) throw refuse("Put brackets around an IPv6 address: \"[::1]:4242\".");
    if (const std::string_view problem = problem_of(host); !problem.empty()) throw refuse(problem);
  }
  address.host = host;
  return address;
}

std::string host_of(std::string_view address) {
  return Address{.host = parse_address(address, "ClusterSpec").host}.normalized();
}

}  // namespace cohort::distribute
