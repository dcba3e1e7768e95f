#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/faults/task_in_step.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"
#include "tests/support/tcp_proxy.h"

namespace cohort::test {

inline constexpr const char* kTaskInStep = "COHORT_TEST_TASK_IN_STEP";
// Seconds of silence after which a worker of these tests counts as lost.
inline constexpr double kDeadAfterInStep = 2.0;

struct ProcessesInStepOptions {
  // The first one is a chief, the others are workers.
  bool has_chief = false;
  // They talk over gRPC, through proxies that can cut one off.
  bool proxied = false;
  // NCCL takes each for one of a machine of its own.
  bool apart_for_nccl = false;
  // False: start() does it.
  bool start = true;
};

// Processes of this test binary that train in step; those that still run are killed at the end of the scope.
class ProcessesInStep {
 public:
  //   words: for all of them, as TaskInStep reads them.
  ProcessesInStep(int count, std::string words, const ProcessesInStepOptions& options = {});

  // Starts one, perhaps again or a second time; `more` are words for it alone.
  StartedProgram& start(int rank, const std::string& more = {});
  int size() const { return static_cast<int>(addresses_.size()); }
  StartedProgram& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }
  std::string file(int rank, const std::string& name) const {
    return folders_[static_cast<std::size_t>(rank)]->file(name);
  }
  bool has_file(int rank, const std::string& name) const { return std::filesystem::exists(file(rank, name)); }
  const std::string& address(int rank) const { return addresses_[static_cast<std::size_t>(rank)]; }
  // "worker:1"
  std::string name(int rank) const;
  // What ended the code of one; "no error" where nothing did.
  std::string error(int rank, std::chrono::seconds longest = std::chrono::seconds(60));
  TrainedInStep result(int rank) const { return read_result(file(rank, "result")); }
  // Whether all of them have written a file, within a minute.
  bool all_have(const std::string& name) const;
  // No byte passes between one and the others any more.
  void cut_off(int rank);

 private:
  const std::string words_;
  const ProcessesInStepOptions options_;
  std::vector<std::string> addresses_, listening_;
  std::vector<std::unique_ptr<TcpProxy>> proxies_;
  std::vector<std::unique_ptr<TemporaryFolder>> folders_;
  std::vector<std::unique_ptr<StartedProgram>> processes_, replaced_;
};

}  // namespace cohort::test
