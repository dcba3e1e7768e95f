#include "tests/support/tcp_proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "tests/support/free_ports.h"
#include "tests/support/socket_owner.h"

namespace cohort::test {
namespace {

constexpr std::size_t kMostHeld = 1 << 20;

sockaddr_in loopback(const std::string& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  return to;
}

int new_socket() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return made;
}

void send_at_once(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// False when the other side is gone.
bool read_some(int socket, std::string& into) {
  char bytes[1 << 16];
  const ssize_t got = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got > 0) into.append(bytes, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool write_some(int socket, std::string& from, std::size_t& written) {
  const ssize_t sent = ::send(socket, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) from.erase(0, static_cast<std::size_t>(sent));
  written = sent > 0 ? static_cast<std::size_t>(sent) : 0;
  return sent >= 0 || errno == EAGAIN || errno == EINTR;
}

}  // namespace

TcpProxy::TcpProxy(std::string target, std::size_t payload)
    : target_(std::move(target)), payload_(payload), address_(free_addresses(1).front()), listener_(new_socket()) {
  const sockaddr_in at = loopback(address_);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener_, 64) != 0) {
    throw std::runtime_error("TcpProxy: cannot listen at " + address_);
  }
  thread_ = std::thread([this] { run(); });
}

TcpProxy::~TcpProxy() {
  stopping_ = true;
  thread_.join();
  ::close(listener_);
  for (Connection& connection : connections_) {
    ::close(connection.client);
    ::close(connection.server);
  }
}

bool TcpProxy::holds(const Connection& connection, Hold what) const {
  if (held_caller_ != 0 && connection.caller != held_caller_) return false;
  return (hold_ == what || hold_ == Hold::Everything) && connection.caller != ::getpid();
}

void TcpProxy::run() {
  while (!stopping_) {
    if (silent_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    std::vector<Connection*> connections;
    {
      const auto lock = freeze();
      for (Connection& connection : connections_) {
        const auto events = [](bool room, bool waiting) {
          return static_cast<short>((room ? POLLIN : 0) | (waiting ? POLLOUT : 0));
        };
        const bool up = !connection.up.empty() && !holds(connection, Hold::Requests);
        const bool down = !connection.down.empty() && !holds(connection, Hold::Replies);
        polled.push_back({connection.client, events(connection.up.size() < kMostHeld, down), 0});
        polled.push_back({connection.server, events(connection.down.size() < kMostHeld, up), 0});
        connections.push_back(&connection);
      }
    }
    // The end and a change of what is held are noticed soon enough.
    if (::poll(polled.data(), polled.size(), 5) < 0) continue;
    if (polled[0].revents != 0) accept();
    const auto lock = freeze();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      if (!connections[i]->over) move(*connections[i], polled[1 + 2 * i].revents, polled[2 + 2 * i].revents);
    }
    connections_.remove_if([](const Connection& connection) {
      if (connection.over) {
        ::close(connection.client);
        ::close(connection.server);
      }
      return connection.over;
    });
  }
}

void TcpProxy::accept() {
  sockaddr_in from{};
  socklen_t size = sizeof from;
  Connection made;
  made.client = ::accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
  if (made.client < 0) return;
  made.caller = owner_of_port(ntohs(from.sin_port));
  made.server = new_socket();
  const sockaddr_in to = loopback(target_);
  made.over = ::connect(made.server, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0;
  made.over |= barred_ != 0 && made.caller == barred_;
  send_at_once(made.client);
  send_at_once(made.server);
  const auto lock = freeze();
  connections_.push_back(std::move(made));
}

void TcpProxy::move(Connection& connection, short client_events, short server_events) {
  constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
  bool fine = true;
  if (client_events & kReadable) fine = read_some(connection.client, connection.up);
  if (fine && (server_events & kReadable)) fine = read_some(connection.server, connection.down);
  std::size_t passed = 0;
  if (fine && !connection.up.empty() && !holds(connection, Hold::Requests)) {
    fine = write_some(connection.server, connection.up, passed);
    connection.traffic.bytes += passed;
    count_up(connection, passed);
  }
  if (fine && !connection.down.empty() && !holds(connection, Hold::Replies)) {
    fine = write_some(connection.client, connection.down, passed);
    connection.traffic.bytes += passed;
    count_down(connection, passed);
  }
  connection.over = !fine;
}

// A request begins when the reply before it is through. One that was repeated may have had a small reply, for the
// caller knew what came of it: then the next request tells.
void TcpProxy::count_up(Connection& connection, std::size_t bytes) {
  connection.up_counted += bytes;
  Traffic& traffic = connection.traffic;
  if (traffic.requests > traffic.replies && connection.up_counted >= 2 * payload_) {
    connection.up_counted -= payload_;
    ++traffic.replies;
    ++replies_;
  }
  if (connection.up_counted >= payload_ && traffic.requests == traffic.replies) ++traffic.requests;
}

void TcpProxy::count_down(Connection& connection, std::size_t bytes) {
  connection.down_counted += bytes;
  if (connection.down_counted < payload_) return;
  // A reply without a large request before it is somebody's first look at the values.
  Traffic& traffic = connection.traffic;
  if (traffic.requests > traffic.replies) {
    ++traffic.replies;
    ++replies_;
  }
  connection.up_counted = connection.down_counted = 0;
}

TcpProxy::Traffic TcpProxy::traffic_of(pid_t caller) const {
  Traffic all;
  for (const Connection& connection : connections_) {
    if (connection.caller != caller || connection.over) continue;
    all.requests += connection.traffic.requests;
    all.replies += connection.traffic.replies;
    all.bytes += connection.traffic.bytes;
    all.held |= connection.up.size() >= payload_ || connection.down.size() >= payload_;
  }
  return all;
}

void TcpProxy::cut() {
  const auto lock = freeze();
  for (Connection& connection : connections_) connection.over = true;
}

void TcpProxy::bar(pid_t caller) {
  const auto lock = freeze();
  barred_ = caller;
  if (caller != 0) drop(caller);
}

void TcpProxy::drop(pid_t caller) {
  for (Connection& connection : connections_) connection.over |= connection.caller == caller;
}

}  // namespace cohort::test
