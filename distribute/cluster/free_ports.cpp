#include "cohort/distribute/cluster/free_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <random>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

constexpr int kLowest = 10000;

// The first port that the system gives to outgoing connections.
int first_ephemeral_port() {
  int first = 32768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first;
}

// A socket bound to the port, or -1 when it is taken.
int bind_loopback(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return socket;
  ::close(socket);
  return -1;
}

}  // namespace

std::vector<int> free_ports(std::size_t count) {
  int end = first_ephemeral_port();
  // Where the system keeps nearly all ports for itself, any will have to do.
  if (end < kLowest + 10000) end = 65536;
  std::mt19937 random(std::random_device{}());
  std::uniform_int_distribution<int> candidate(kLowest, end - 1);
  std::vector<int> ports, sockets;
  for (int attempt = 0; ports.size() < count && attempt < 100000; ++attempt) {
    const int port = candidate(random);
    // Held until all are found, hence never found twice.
    if (const int socket = bind_loopback(port); socket >= 0) {
      ports.push_back(port);
      sockets.push_back(socket);
    }
  }
  for (const int socket : sockets) ::close(socket);
  if (ports.size() < count) {
    throw Error(ErrorCode::ResourceExhausted, "free_ports", "there must be a free port for every task",
                {{"tasks", count}, {"free ports", ports.size()}}, "Raise the limit of open files, or start fewer.");
  }
  return ports;
}

}  // namespace cohort::distribute
