#include "cohort/distribute/cluster/local_cluster_spec.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

// A port that the system says is free; it stays taken until this goes.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (socket_ < 0 || ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw Error(ErrorCode::ResourceExhausted, "local_cluster_spec", "a free port of this machine is expected");
    }
    port_ = ntohs(address.sin_port);
  }
  ~TakenPort() {
    if (socket_ >= 0) ::close(socket_);
  }
  TakenPort(TakenPort&& other) noexcept : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}
  int port() const { return port_; }

 private:
  int socket_;
  int port_ = 0;
};

}  // namespace

ClusterSpec local_cluster_spec(const std::vector<std::pair<std::string, int>>& jobs) {
  std::vector<TakenPort> ports;  // all at once, so that they differ
  std::map<std::string, std::vector<std::string>> addresses;
  for (const auto& [job, tasks] : jobs) {
    for (int i = 0; i < tasks; ++i) {
      ports.emplace_back();
      addresses[job].push_back("127.0.0.1:" + std::to_string(ports.back().port()));
    }
  }
  return ClusterSpec(std::move(addresses));
}

}  // namespace cohort::distribute
