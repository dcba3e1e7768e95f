#include "tests/support/free_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "cohort/distribute/cluster/free_ports.h"

namespace cohort::test {

std::vector<std::string> free_addresses(std::size_t count) {
  std::vector<std::string> addresses;
  for (const int port : distribute::free_ports(count)) addresses.push_back("127.0.0.1:" + std::to_string(port));
  return addresses;
}

bool is_free(const std::string& address) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free =
      ::bind(socket, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0 && ::listen(socket, 1) == 0;
  ::close(socket);
  return free;
}

}  // namespace cohort::test
