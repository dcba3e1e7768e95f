#include "cohort/distribute/rpc/address.h"

#include <arpa/inet.h>

#include <charconv>

#include "cohort/core/error.h"

namespace cohort::distribute::rpc {
namespace {

std::string join(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace

Address Address::parse(std::string_view text, std::string_view who) {
  const auto refuse = [&] {
    return invalid_argument(who, "an address is host:port with a port from 0 to 65535", {{"address", text}},
                            "Write for example 127.0.0.1:2222, or [::1]:2222.");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) throw refuse();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    throw refuse();
  }
  Address address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (host.empty() || error != std::errc() || end != port.data() + port.size() || address.port < 0 ||
      address.port > 65535) {
    throw refuse();
  }
  return address;
}

bool Address::is_loopback() const {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string Address::to_string() const { return join(host, port); }

std::string Address::numeric() const { return join(host == "localhost" ? "127.0.0.1" : host, port); }

}  // namespace cohort::distribute::rpc
