#include "tests/distribute/rpc/peer_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "tests/distribute/rpc/test_services.h"

extern char** environ;

namespace cohort::distribute::rpc::test {
namespace {

constexpr char kMark[] = "ADDRESS ";

// What the second process runs.
TEST(PeerProcess, DISABLED_Serves) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  std::printf("%s%s\n", kMark, listener.address().c_str());
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
}

}  // namespace

PeerProcess::PeerProcess() {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  char program[] = "/proc/self/exe", filter[] = "--gtest_filter=PeerProcess.DISABLED_Serves",
       disabled[] = "--gtest_also_run_disabled_tests";
  char* arguments[] = {program, filter, disabled, nullptr};
  const int failed = posix_spawn(&pid_, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  if (failed) throw std::runtime_error("no second process");
  FILE* lines = fdopen(out[0], "r");
  char line[256];
  while (address_.empty() && std::fgets(line, sizeof line, lines) != nullptr) {
    const std::string text(line);
    if (text.starts_with(kMark)) address_ = text.substr(sizeof kMark - 1, text.size() - sizeof kMark);
  }
  std::fclose(lines);
  if (address_.empty()) throw std::runtime_error("the second process does not serve");
}

PeerProcess::~PeerProcess() {
  close(input_);
  signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void PeerProcess::signal(int number) const {
  kill(pid_, number);
  // Its threads run on for a moment otherwise.
  if (number == SIGSTOP) waitpid(pid_, nullptr, WUNTRACED);
}

}  // namespace cohort::distribute::rpc::test
