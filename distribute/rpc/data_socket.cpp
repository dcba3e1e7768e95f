#include "cohort/distribute/rpc/data_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "cohort/distribute/rpc/connection_name.h"

namespace cohort::distribute::rpc {
namespace {

constexpr std::string_view kWelcome = "WELCOME\n";
// A record of TLS is 16 KiB at most. Smaller pieces share one; of larger ones some go at a time, which the nearest
// cache holds together with what they become.
constexpr std::size_t kSmallPiece = std::size_t{16} << 10, kPieceAtOnce = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kBetweenLooks{50};

int milliseconds_until(DataSocket::Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - DataSocket::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
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
  int error = errno;
  socklen_t size = sizeof error;
  if (error != EINPROGRESS || poll(&connecting, 1, milliseconds_until(deadline)) != 1 ||
      getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

}  // namespace

DataSocket::DataSocket(int socket, SocketEncryption::Side side, const std::string& key)
    : socket_(socket), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!key.empty()) encryption_.emplace(socket_, side, key);
}

DataSocket::~DataSocket() {
  encryption_.reset();
  ::close(socket_);
  ::close(wake_);
}

std::unique_ptr<DataSocket> DataSocket::call(const std::string& peer, const SocketTicket& ticket,
                                             Clock::time_point deadline) {
  const int socket = connected_socket(peer, deadline);
  if (socket < 0) return nullptr;
  const std::string first = std::string(kSocketMark) + ticket.token;
  const bool said = send(socket, first.data(), first.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(first.size());
  std::unique_ptr<DataSocket> made(new DataSocket(socket, SocketEncryption::Side::Caller, ticket.key));
  const bool greeted = said && made->greet(SocketEncryption::Side::Caller, deadline, [] { return false; });
  return greeted ? std::move(made) : nullptr;
}

std::unique_ptr<DataSocket> DataSocket::welcome(int socket, const std::string& key, Clock::time_point deadline,
                                                const std::function<bool()>& is_over) {
  std::unique_ptr<DataSocket> made(new DataSocket(socket, SocketEncryption::Side::Task, key));
  return made->greet(SocketEncryption::Side::Task, deadline, is_over) ? std::move(made) : nullptr;
}

bool DataSocket::greet(SocketEncryption::Side side, Clock::time_point deadline, const std::function<bool()>& is_over) {
  const auto go_on = [&] { return !is_closed() && !is_over() && Clock::now() < deadline; };
  while (encryption_ && !encryption_->greet()) {
    if (!go_on()) return false;
    wait(true, !encryption_->flush(), kBetweenLooks);
  }
  std::array<char, kWelcome.size()> came{};
  if (side == SocketEncryption::Side::Task) {
    const iovec word{const_cast<char*>(kWelcome.data()), kWelcome.size()};
    return write({&word, 1}) == kWelcome.size() && flush();
  }
  for (std::size_t count = 0; count < came.size();) {
    const iovec room{came.data() + count, came.size() - count};
    const std::size_t more = read({&room, 1});
    count += more;
    if (more > 0) continue;
    if (!go_on()) return false;
    wait(true, false, kBetweenLooks);
  }
  return std::string_view(came.data(), came.size()) == kWelcome;
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
  if (encryption_) return write_encrypted(pieces);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  const ssize_t count = sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return count < 0 ? nothing_moved() : static_cast<std::size_t>(count);
}

std::size_t DataSocket::write_encrypted(std::span<const iovec> pieces) {
  if (!encryption_->flush()) return 0;
  const std::span<const char> first(static_cast<const char*>(pieces[0].iov_base), pieces[0].iov_len);
  std::size_t taken = std::min(first.size(), kPieceAtOnce);
  if (first.size() >= kSmallPiece) {
    encryption_->write(first.first(taken));
  } else {
    small_.clear();
    for (const iovec& piece : pieces) {
      small_.append(static_cast<const char*>(piece.iov_base), std::min(piece.iov_len, kSmallPiece - small_.size()));
      if (small_.size() == kSmallPiece) break;
    }
    encryption_->write(small_);
    taken = small_.size();
  }
  encryption_->flush();
  return taken;
}

void DataSocket::wait(bool for_bytes, bool for_room, std::chrono::nanoseconds longest) {
  const auto events = static_cast<short>((for_bytes ? POLLIN | POLLRDHUP : 0) | (for_room ? POLLOUT : 0));
  std::array<pollfd, 2> awaited{pollfd{socket_, events, 0}, pollfd{wake_, POLLIN, 0}};
  const timespec time{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
  if (ppoll(awaited.data(), awaited.size(), &time, nullptr) <= 0 || awaited[1].revents == 0) return;
  eventfd_t rung = 0;
  eventfd_read(wake_, &rung);
}

void DataSocket::interrupt() { eventfd_write(wake_, 1); }

void DataSocket::close() { shutdown(socket_, SHUT_WR); }

}  // namespace cohort::distribute::rpc
