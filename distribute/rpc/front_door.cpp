#include "cohort/distribute/rpc/front_door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/distribute/rpc/connection_name.h"
#include "cohort/distribute/rpc/data_socket.h"

namespace cohort::distribute::rpc {
namespace {

constexpr std::uint64_t kWake = ~std::uint64_t{0}, kFirstListener = kWake - 1000;
constexpr std::chrono::milliseconds kBetweenRounds{50};
constexpr std::uint32_t kEndings = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// HTTP/2: no settings of our own, and farewell for want of security, with a text for whoever looks at the bytes.
constexpr std::string_view kFarewellText = "this task takes encrypted callers only: give certificates or the secret";
std::string farewell() {
  std::string frames("\0\0\0\4\0\0\0\0\0", 9);
  frames += std::string("\0\0", 2) + static_cast<char>(8 + kFarewellText.size());
  frames += std::string("\7\0\0\0\0\0\0\0\0\0\0\0\0\x0c", 14);
  return frames.append(kFarewellText);
}

DoorLimits within_files(DoorLimits limits) {
  const int quarter = share_of_files(4);
  limits.waiting = std::min(limits.waiting, quarter);
  limits.strangers = std::min(limits.strangers, quarter);
  return limits;
}

// "127.0.0.1" and "127.0.0.1:4242" of a caller. An IPv4 address that came to an IPv6 socket is one.
std::pair<std::string, std::string> host_and_name(const sockaddr_storage& caller) {
  char text[INET6_ADDRSTRLEN] = {0};
  if (caller.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(caller);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, text + (":" + std::to_string(ntohs(v4.sin_port)))};
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(caller);
  const std::string port = std::to_string(ntohs(v6.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, sizeof text);
    return {text, text + (":" + port)};
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return {text, "[" + std::string(text) + "]:" + port};
}

// The same of what gRPC calls it, which may name an interface, too.
std::string without_zone(std::string name) {
  const std::size_t zone = name.find('%');
  return zone == std::string::npos ? name : name.erase(zone, name.find(']') - zone);
}

enum class Words { Begun, Whole, Token, Others };
constexpr std::size_t kTokenWords = kSocketMark.size() + kSocketTokenBytes;

// What has come of the words that begin a connection. They stay where they are.
Words first_words(int socket, bool encrypted) {
  std::array<char, std::max(kPreface.size(), kTokenWords)> bytes;
  const ssize_t came = recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (came < 0) return errno == EAGAIN || errno == EINTR ? Words::Begun : Words::Others;
  if (came == 0) return Words::Others;
  const std::string_view said(bytes.data(), static_cast<std::size_t>(came));
  const auto begins_with = [&](std::string_view words) {
    const std::size_t both = std::min(words.size(), said.size());
    return said.substr(0, both) == words.substr(0, both);
  };
  if (begins_with(kSocketMark)) return said.size() >= kTokenWords ? Words::Token : Words::Begun;
  if (!encrypted) {
    if (!begins_with(kPreface)) return Words::Others;
    return said.size() >= kPreface.size() ? Words::Whole : Words::Begun;
  }
  // A record of TLS: kind (22), version (3.x), the length of what follows.
  constexpr std::size_t kHeader = 5, kLongest = 1 << 14;
  if (said[0] != 22 || (said.size() > 1 && said[1] != 3)) return Words::Others;
  if (said.size() < kHeader) return Words::Begun;
  const std::size_t length = static_cast<unsigned char>(said[3]) * 256u + static_cast<unsigned char>(said[4]);
  if (length == 0 || length > kLongest) return Words::Others;
  int there = 0;
  ioctl(socket, FIONREAD, &there);
  return static_cast<std::size_t>(there) >= kHeader + length ? Words::Whole : Words::Begun;
}

// Callers that speak HTTP/2 in plain text are told why they are not heard.
void refuse_plain_text(int socket) {
  std::array<char, 4096> bytes;
  const ssize_t came = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (came < 3 || std::string_view(bytes.data(), 3) != kPreface.substr(0, 3)) return;
  const std::string frames = farewell();
  if (send(socket, frames.data(), frames.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) shutdown(socket, SHUT_WR);
}

}  // namespace

FrontDoor::FrontDoor(const Address& address, const std::string& task, bool encrypted, const DoorLimits& limits)
    : encrypted_(encrypted),
      limits_(within_files(limits)),
      listening_(address, task),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  watch(wake_, kWake, EPOLLIN);
  for (std::size_t i = 0; i < listening_.sockets().size(); ++i) {
    watch(listening_.sockets()[i], kFirstListener + i, EPOLLIN);
  }
}

FrontDoor::~FrontDoor() {
  close();
  ::close(events_);
  ::close(wake_);
}

void FrontDoor::open(Enter enter) {
  enter_ = std::move(enter);
  thread_ = std::thread([this] { run(); });
}

void FrontDoor::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  listening_.close();
  std::lock_guard lock(mutex_);
  while (!waiting_.empty()) cut_off(waiting_, waiting_.begin());
  while (!strangers_.empty()) forget(strangers_.begin());
}

void FrontDoor::admitted(const std::string& connection) {
  std::lock_guard lock(mutex_);
  const auto found = by_name_.find(without_zone(name_of_connection(connection)));
  if (found == by_name_.end()) return;
  const auto stranger = strangers_.find(found->second);
  give_back(stranger->second.host);
  forget(stranger);
}

void FrontDoor::expect(const std::string& token, std::function<void(int)> take) {
  std::lock_guard lock(mutex_);
  expected_[token] = std::move(take);
}

void FrontDoor::expect_no_more(const std::string& token) {
  std::lock_guard lock(mutex_);
  expected_.erase(token);
}

void FrontDoor::run() {
  std::array<epoll_event, 64> events;
  while (true) {
    bool ready = false;
    {
      std::lock_guard lock(mutex_);
      if (closing_) return;
      ready = !waiting_.empty() || !strangers_.empty();
    }
    const int count = epoll_wait(events_, events.data(), static_cast<int>(events.size()),
                                 ready ? static_cast<int>(kBetweenRounds.count()) : -1);
    std::unique_lock lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const auto& [what, data] = events[static_cast<std::size_t>(i)];
      const std::uint64_t id = data.u64;
      if (id == kWake) continue;
      if (id >= kFirstListener) {
        take_callers(listening_.sockets()[id - kFirstListener]);
      } else if (const auto gone = waiting_.find(id); gone != waiting_.end() && (what & kEndings) != 0) {
        cut_off(waiting_, gone);
      } else {
        look_at(id);
      }
    }
    hand_on();
    expire();
    lock.unlock();
    // What begins a connection takes gRPC a while: keys are agreed upon.
    for (const int socket : std::exchange(entering_, {})) enter_(listening_.sockets().front(), socket);
    if (std::exchange(out_of_files_, false)) std::this_thread::sleep_for(kBetweenRounds);
  }
}

void FrontDoor::take_callers(int listener) {
  for (int taken = 0; taken < 64; ++taken) {
    sockaddr_storage caller{};
    socklen_t size = sizeof caller;
    const int socket = accept4(listener, reinterpret_cast<sockaddr*>(&caller), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
      // Those that have waited longest make room; where nobody waits, the next caller does.
      if (!waiting_.empty()) return cut_off(waiting_, waiting_.begin());
      if (!strangers_.empty()) return cut_off(strangers_, strangers_.begin());
      out_of_files_ = true;
      return;
    }
    if (waiting_.size() >= static_cast<std::size_t>(limits_.waiting)) cut_off(waiting_, waiting_.begin());
    const std::uint64_t id = next_++;
    auto [host, name] = host_and_name(caller);
    waiting_[id] = {socket, std::move(host), std::move(name), Clock::now() + limits_.patience};
    watch(socket, id, EPOLLIN | EPOLLRDHUP | EPOLLET);
    look_at(id);
  }
}

void FrontDoor::look_at(std::uint64_t id) {
  if (const auto stranger = strangers_.find(id); stranger != strangers_.end()) return forget(stranger);  // it has ended
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const Words words = first_words(found->second.socket, encrypted_);
  found->second.ready = words == Words::Whole;
  if (words == Words::Token) return hand_over(found);
  if (words != Words::Others) return;
  if (encrypted_) refuse_plain_text(found->second.socket);
  cut_off(waiting_, found);
}

// Who knows a token has been told it on a call that was admitted.
void FrontDoor::hand_over(Connections::iterator bringer) {
  const int socket = bringer->second.socket;
  std::array<char, kTokenWords> words;
  const ssize_t came = recv(socket, words.data(), words.size(), MSG_DONTWAIT);
  const auto expected = came == static_cast<ssize_t>(words.size())
                            ? expected_.find(std::string(words.data() + kSocketMark.size(), kSocketTokenBytes))
                            : expected_.end();
  if (expected == expected_.end()) return cut_off(waiting_, bringer);
  epoll_ctl(events_, EPOLL_CTL_DEL, socket, nullptr);
  waiting_.erase(bringer);
  expected->second(socket);
  expected_.erase(expected);
}

void FrontDoor::hand_on() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto one = next++;
    if (!one->second.ready || !allow(one->second.host)) continue;
    const int socket = one->second.socket;
    epoll_ctl(events_, EPOLL_CTL_DEL, socket, nullptr);
    if (strangers_.size() >= static_cast<std::size_t>(limits_.strangers)) cut_off(strangers_, strangers_.begin());
    // gRPC has the socket from now on; a second number for it tells of its end, and can bring that about.
    const int second = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (second < 0) {
      cut_off(waiting_, one);
      continue;
    }
    Connection connection = std::move(one->second);
    connection.socket = second;
    connection.end = Clock::now() + limits_.patience;
    const std::uint64_t id = next_++;
    watch(second, id, EPOLLET);
    by_name_[connection.name] = id;
    strangers_[id] = std::move(connection);
    waiting_.erase(one);
    entering_.push_back(socket);
  }
}

void FrontDoor::expire() {
  const Clock::time_point now = Clock::now();
  for (Connections* connections : {&waiting_, &strangers_}) {
    while (!connections->empty() && connections->begin()->second.end <= now) {
      cut_off(*connections, connections->begin());
    }
  }
  std::erase_if(allowances_, [&](const auto& one) {
    const double seconds = std::chrono::duration<double>(now - one.second.at).count();
    return one.second.left + seconds * limits_.per_second >= limits_.burst;
  });
}

bool FrontDoor::allow(const std::string& host) {
  const Clock::time_point now = Clock::now();
  const auto [found, fresh] = allowances_.try_emplace(host, Allowance{static_cast<double>(limits_.burst), now});
  Allowance& allowance = found->second;
  const double seconds = std::chrono::duration<double>(now - allowance.at).count();
  allowance = {std::min<double>(allowance.left + seconds * limits_.per_second, limits_.burst), now};
  if (allowance.left < 1) return false;
  allowance.left -= 1;
  return true;
}

void FrontDoor::give_back(const std::string& host) {
  if (const auto found = allowances_.find(host); found != allowances_.end()) found->second.left += 1;
}

void FrontDoor::watch(int socket, std::uint64_t id, std::uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(events_, EPOLL_CTL_ADD, socket, &event);
}

void FrontDoor::cut_off(Connections& connections, Connections::iterator which) {
  if (&connections == &strangers_) {
    shutdown(which->second.socket, SHUT_RDWR);
    return forget(which);
  }
  ::close(which->second.socket);
  connections.erase(which);
}

void FrontDoor::forget(Connections::iterator stranger) {
  // Its other number keeps it open: closing this one does not end the watch.
  epoll_ctl(events_, EPOLL_CTL_DEL, stranger->second.socket, nullptr);
  ::close(stranger->second.socket);
  const auto named = by_name_.find(stranger->second.name);
  if (named != by_name_.end() && named->second == stranger->first) by_name_.erase(named);
  strangers_.erase(stranger);
}

}  // namespace cohort::distribute::rpc
