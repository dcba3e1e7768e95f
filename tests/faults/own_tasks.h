#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort::test {

// Starts this test binary again, as a task of a cluster: one that serves, as a program of one's own does, and knows
// what the tests register, or one of its disabled tests as the chief.
std::unique_ptr<StartedProgram> start_own_task(const distribute::ClusterSpec& spec, const std::string& job, int index,
                                               const std::string& test, const std::filesystem::path& folder);

// Workers and parameter servers that are processes of this test binary.
class OwnTasks {
 public:
  OwnTasks(int workers, int servers);
  const distribute::ClusterSpec& spec() const { return spec_; }
  StartedProgram& worker(int index) { return *workers_.at(static_cast<std::size_t>(index)); }
  StartedProgram& server(int index) { return *servers_.at(static_cast<std::size_t>(index)); }

 private:
  distribute::ClusterSpec spec_;
  std::vector<std::unique_ptr<TemporaryFolder>> folders_;
  std::vector<std::unique_ptr<StartedProgram>> workers_, servers_;
};

}  // namespace cohort::test
