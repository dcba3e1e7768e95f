#include "cohort/distribute/rpc/data_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "cohort/distribute/rpc/connection_name.h"

namespace cohort::distribute::rpc {
namespace {

// The second one to a caller of this machine.
constexpr std::string_view kWelcome = "WELCOME\n", kWelcomeHere = "WELHERE\n";
constexpr std::chrono::milliseconds kBetweenLooks{50};
// A second apart, of an end that hears nothing; then its system gives up. Who waits for an answer knows earlier.
constexpr int kProbes = 60;

int milliseconds_until(DataSocket::Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - DataSocket::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Of an end of a connection; nothing where that is no loopback address.
template <class NameOf>
std::optional<std::uint16_t> port_on_this_machine(int socket, const NameOf& name_of) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (name_of(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return std::nullopt;
  if (name.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(name);
    return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ? std::optional(ntohs(v4.sin_port)) : std::nullopt;
  }
  if (name.ss_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name);
  const bool v4_loopback = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET;
  const bool loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) || v4_loopback;
  return loopback ? std::optional(ntohs(v6.sin6_port)) : std::nullopt;
}

// -1: not in time.
int connected_socket(const std::string& peer, DataSocket::Clock::time_point deadline) {
  const auto [host, port] = host_and_port_of_connection(peer);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (host.empty() || getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> address(found, freeaddrinfo);
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  if (connect(socket, found->ai_addr, found->ai_addrlen) == 0) return socket;
  pollfd connecting{socket, POLLOUT, 0};
  int error = errno, ready = -1;
  if (error == EINPROGRESS) {
    do ready = poll(&connecting, 1, milliseconds_until(deadline));
    while (ready < 0 && errno == EINTR);
  }
  socklen_t size = sizeof error;
  if (ready != 1 || getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

}  // namespace

void DataSocket::set_up(SocketEncryption::Side side, const std::string& key) {
  const auto set = [this](int level, int option, int value) {
    setsockopt(socket_, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  if (!key.empty()) encryption_.emplace(socket_, side, key);
}

DataSocket::~DataSocket() {
  encryption_.reset();
  ::close(socket_);
}

std::unique_ptr<DataSocket> DataSocket::call(const std::string& peer, const SocketTicket& ticket,
                                             Clock::time_point deadline) {
  const int socket = connected_socket(peer, deadline);
  if (socket < 0) return nullptr;
  std::unique_ptr<DataSocket> made(new DataSocket(socket));
  const std::string first = std::string(kSocketMark) + ticket.token;
  const bool said = send(socket, first.data(), first.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(first.size());
  made->set_up(SocketEncryption::Side::Caller, ticket.key);
  const bool greeted = said && made->greet(SocketEncryption::Side::Caller, deadline, [] { return false; });
  return greeted ? std::move(made) : nullptr;
}

std::unique_ptr<DataSocket> DataSocket::welcome(int socket, const std::string& key, Clock::time_point deadline,
                                                const std::function<bool()>& is_over) {
  std::unique_ptr<DataSocket> made(new DataSocket(socket));
  made->set_up(SocketEncryption::Side::Task, key);
  return made->greet(SocketEncryption::Side::Task, deadline, is_over) ? std::move(made) : nullptr;
}

bool DataSocket::greet(SocketEncryption::Side side, Clock::time_point deadline, const std::function<bool()>& is_over) {
  const auto go_on = [&] { return !is_closed() && !is_over() && Clock::now() < deadline; };
  while (encryption_ && !encryption_->greet()) {
    if (!go_on()) return false;
    wait(true, !encryption_->flush(), kBetweenLooks);
  }
  if (!encryption_ && !greet_plainly(side, go_on)) return false;
  if (side == SocketEncryption::Side::Task) {
    const std::string_view word = on_this_machine_ ? kWelcomeHere : kWelcome;
    const iovec piece{const_cast<char*>(word.data()), word.size()};
    return write({&piece, 1}) == word.size() && flush();
  }
  std::array<char, kWelcome.size()> came{};
  if (!read_all(came, go_on)) return false;
  const std::string_view word(came.data(), came.size());
  on_this_machine_ = on_this_machine_ && word == kWelcomeHere;
  return word == kWelcome || on_this_machine_;
}

// The caller tells both ports. Where the task sees the same ones, at addresses that lead nowhere else, nobody is in
// between.
bool DataSocket::greet_plainly(SocketEncryption::Side side, const std::function<bool()>& go_on) {
  const std::optional<std::uint16_t> here = port_on_this_machine(socket_, getsockname),
                                     there = port_on_this_machine(socket_, getpeername);
  std::array<std::uint16_t, 2> told{here.value_or(0), there.value_or(0)};
  const std::span<char> bytes(reinterpret_cast<char*>(told.data()), sizeof told);
  on_this_machine_ = here && there;
  if (side == SocketEncryption::Side::Caller) {
    const iovec piece{bytes.data(), bytes.size()};
    return write({&piece, 1}) == bytes.size();
  }
  if (!read_all(bytes, go_on)) return false;
  on_this_machine_ = on_this_machine_ && told[0] == *there && told[1] == *here;
  return true;
}

bool DataSocket::read_all(std::span<char> room, const std::function<bool()>& go_on) {
  while (!room.empty()) {
    const iovec rest{room.data(), room.size()};
    const std::size_t count = read({&rest, 1});
    room = room.subspan(count);
    if (count > 0) continue;
    if (!go_on()) return false;
    wait(true, false, kBetweenLooks);
  }
  return true;
}

std::size_t DataSocket::nothing_moved() {
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) closed_ = true;
  return 0;
}

std::size_t DataSocket::read(std::span<const iovec> rooms) {
  if (encryption_) return encryption_->read({static_cast<char*>(rooms[0].iov_base), rooms[0].iov_len});
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(rooms.data());
  message.msg_iovlen = rooms.size();
  const ssize_t count = recvmsg(socket_, &message, MSG_DONTWAIT);
  if (count == 0) closed_ = true;
  return count < 0 ? nothing_moved() : static_cast<std::size_t>(count);
}

std::size_t DataSocket::write(std::span<const iovec> pieces) {
  if (is_closed()) return 0;
  if (encryption_) return encryption_->write(pieces);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  const ssize_t count = sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return count < 0 ? nothing_moved() : static_cast<std::size_t>(count);
}

void DataSocket::wait(bool for_bytes, bool for_room, std::chrono::nanoseconds longest) {
  const auto events = static_cast<short>((for_bytes ? POLLIN | POLLRDHUP : 0) | (for_room ? POLLOUT : 0));
  pollfd awaited{socket_, events, 0};
  const timespec time{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
  ppoll(&awaited, 1, &time, nullptr);
}

void DataSocket::interrupt() { shutdown(socket_, SHUT_RDWR); }

bool DataSocket::is_silent(std::chrono::milliseconds longest) const {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         std::chrono::milliseconds(info.tcpi_last_ack_recv) > longest;
}

void DataSocket::close() { shutdown(socket_, SHUT_WR); }

}  // namespace cohort::distribute::rpc
