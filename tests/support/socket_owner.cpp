#include "tests/support/socket_owner.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace cohort::test {
namespace {

constexpr const char* kEstablished = "01";

// "socket:[12345]", as the links in /proc/PID/fd read; empty when nobody has the port.
std::string socket_of_port(int port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, ignored, inode;
      fields >> number >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) fields >> ignored;
      fields >> inode;
      const int local_port = static_cast<int>(std::strtol(local.substr(local.rfind(':') + 1).c_str(), nullptr, 16));
      if (local_port == port && state == kEstablished) return "socket:[" + inode + "]";
    }
  }
  return "";
}

}  // namespace

pid_t owner_of_port(int port) {
  const std::string wanted = socket_of_port(port);
  if (wanted.empty()) return 0;
  std::error_code ignored;
  for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t id = std::atoi(process.path().filename().c_str());
    if (id <= 0) continue;
    for (const auto& file : std::filesystem::directory_iterator(process.path() / "fd", ignored)) {
      if (std::filesystem::read_symlink(file.path(), ignored) == wanted) return id;
    }
  }
  return 0;
}

}  // namespace cohort::test
