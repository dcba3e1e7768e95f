#include "tests/distribute/collective/rank_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace cohort::distribute::collective::test {
namespace {

// What the second process runs. Its set-up is the first line of its input: rank, transport, dead_after, addresses.
TEST(RankProcess, DISABLED_Runs) {
  std::string line, address;
  std::getline(std::cin, line);
  std::istringstream words(line);
  CommunicatorSetUp set_up;
  std::int64_t dead_after = 0;
  words >> set_up.rank >> set_up.options.transport >> dead_after;
  set_up.options.dead_after = std::chrono::milliseconds(dead_after);
  while (words >> address) set_up.addresses.push_back(address);
  try {
    reduce_for_ever(*make_communicator(set_up));
  } catch (const Error&) {
    // The others are done with the test.
  }
}

}  // namespace

void reduce_for_ever(Communicator& communicator) {
  std::vector<float> values(300'000);
  for (;;) {
    communicator.all_reduce(values.data(), 300'000, DType::Float32);
    communicator.all_reduce(values.data(), 100, DType::Float32);
  }
}

RankProcess::RankProcess(const CommunicatorSetUp& set_up) {
  int in[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  char program[] = "/proc/self/exe", filter[] = "--gtest_filter=RankProcess.DISABLED_Runs",
       disabled[] = "--gtest_also_run_disabled_tests", brief[] = "--gtest_brief=1";
  char* arguments[] = {program, filter, disabled, brief, nullptr};
  const int failed = posix_spawn(&pid_, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  input_ = in[1];
  if (failed) throw std::runtime_error("no second process");
  std::ostringstream line;
  line << set_up.rank << ' ' << set_up.options.transport << ' ' << set_up.options.dead_after.count();
  for (const std::string& address : set_up.addresses) line << ' ' << address;
  line << '\n';
  if (write(input_, line.str().data(), line.str().size()) < 0) throw std::runtime_error("no set-up");
}

RankProcess::~RankProcess() {
  close(input_);
  signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void RankProcess::signal(int number) const {
  kill(pid_, number);
  // Its threads run on for a moment otherwise.
  if (number == SIGSTOP) waitpid(pid_, nullptr, WUNTRACED);
}

}  // namespace cohort::distribute::collective::test
