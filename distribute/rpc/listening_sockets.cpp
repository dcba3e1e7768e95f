#include "cohort/distribute/rpc/listening_sockets.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::distribute::rpc {
namespace {

using Resolved = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Resolved resolve_host(const Address& address, const std::string& task) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  const int problem = getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (problem != 0) {
    throw Error(
        ErrorCode::NotFound, task, "the name of a host to listen on must be known on this machine",
        {{"address", address.to_string()}, {"reason", gai_strerror(problem)}},
        "Say where to listen by --address (cohort server) or ServerOptions::address: 0.0.0.0:PORT is everywhere.");
  }
  return {found, &freeaddrinfo};
}

std::string text_of_number(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {0};
  const void* number = address->sa_family == AF_INET6
                           ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr)
                           : &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  inet_ntop(address->sa_family, number, text, sizeof text);
  return text;
}

// "127.0.0.1, 10.0.0.7, fe80::1"
std::string addresses_of_this_machine() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "unknown addresses";
  std::vector<std::string> found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    if (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6) continue;
    const std::string text = text_of_number(one->ifa_addr);
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(text);
  }
  freeifaddrs(all);
  return found.empty() ? "no addresses" : join(found);
}

Error cannot_listen(const Address& address, const std::string& task, int error) {
  const std::initializer_list<Received> received{{"address", address.to_string()}, {"reason", std::strerror(error)}};
  if (error == EADDRNOTAVAIL) {
    return Error(
        ErrorCode::InvalidArgument, task,
        "the address to listen on must be one of this machine, which has " + addresses_of_this_machine(), received,
        "Where others reach it by another address than it has, say where to listen by --address (cohort server) "
        "or ServerOptions::address.");
  }
  if (error == EACCES) {
    return Error(ErrorCode::PermissionDenied, task, "the address to listen on must be allowed", received,
                 "Choose a port from 1024 on.");
  }
  return Error(ErrorCode::AlreadyExists, task, "the address to listen on must be free", received,
               "Choose another port, 0 for any that is free, or stop whoever has it.");
}

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

void set_port(sockaddr* address, int port) {
  const std::uint16_t number = htons(static_cast<std::uint16_t>(port));
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = number;
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = number;
  }
}

int port_of_socket(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

}  // namespace

int share_of_files(int shares) {
  constexpr rlim_t kMost = 1 << 20;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return kMost;
  return static_cast<int>(std::clamp<rlim_t>(files.rlim_cur / static_cast<rlim_t>(shares), 8, kMost));
}

ListeningSockets::ListeningSockets(const Address& address, const std::string& task) : port_(address.port) {
  const Resolved resolved = resolve_host(address, task);
  int error = 0;
  std::vector<std::string> seen;  // a name may have the same address twice
  for (const addrinfo* one = resolved.get(); one != nullptr; one = one->ai_next) {
    const std::string number = text_of_number(one->ai_addr);
    if (std::find(seen.begin(), seen.end(), number) != seen.end()) continue;
    seen.push_back(number);
    const int socket = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) {
      error = errno;
      continue;
    }
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    // All addresses of a machine ([::]) are those of both kinds.
    if (one->ai_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, address.host == "::" ? 0 : 1);
    set_port(one->ai_addr, port_);
    if (bind(socket, one->ai_addr, one->ai_addrlen) != 0 || listen(socket, SOMAXCONN) != 0) {
      error = errno;
      ::close(socket);
      if (error == EADDRNOTAVAIL) continue;  // another of the name's addresses may be here
      break;
    }
    sockets_.push_back(socket);
    if (port_ == 0) port_ = port_of_socket(socket);
    error = 0;
  }
  if (sockets_.empty() || (error != 0 && error != EADDRNOTAVAIL)) {
    close();
    throw cannot_listen(address, task, error);
  }
}

void ListeningSockets::close() {
  for (const int socket : sockets_) ::close(socket);
  sockets_.clear();
}

}  // namespace cohort::distribute::rpc
