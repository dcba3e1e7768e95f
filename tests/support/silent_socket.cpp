#include "tests/support/silent_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cohort::test {

SilentSocket::SilentSocket() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, generic, size) != 0 || ::listen(socket_, 16) != 0 ||
      ::getsockname(socket_, generic, &size) != 0) {
    ADD_FAILURE() << "no socket";
  }
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

SilentSocket::~SilentSocket() { ::close(socket_); }

}  // namespace cohort::test
