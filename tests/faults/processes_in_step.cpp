#include "tests/faults/processes_in_step.h"

#include <gtest/gtest.h>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "tests/support/free_ports.h"

namespace cohort::test {

ProcessesInStep::ProcessesInStep(int count, std::string words, const ProcessesInStepOptions& options)
    : words_(std::move(words)), options_(options), addresses_(free_addresses(static_cast<std::size_t>(count))) {
  processes_.resize(addresses_.size());
  for (std::string& address : addresses_) {
    folders_.push_back(std::make_unique<TemporaryFolder>());
    if (!options_.proxied) continue;
    listening_.push_back(address);
    proxies_.push_back(std::make_unique<TcpProxy>(address, std::size_t{1} << 30));
    address = proxies_.back()->address();
  }
  for (int rank = 0; options_.start && rank < count; ++rank) start(rank);
}

std::string ProcessesInStep::name(int rank) const {
  if (!options_.has_chief) return "worker:" + std::to_string(rank);
  return rank == 0 ? "chief:0" : "worker:" + std::to_string(rank - 1);
}

StartedProgram& ProcessesInStep::start(int rank, const std::string& more) {
  const auto place = static_cast<std::size_t>(rank);
  const std::string own = name(rank);
  std::map<std::string, std::vector<std::string>> jobs;
  jobs["worker"] = {addresses_.begin() + (options_.has_chief ? 1 : 0), addresses_.end()};
  if (options_.has_chief) jobs["chief"] = {addresses_[0]};
  const std::string config = R"({"cluster": )" + distribute::ClusterSpec(jobs).as_text() + R"(, "task": {"type": ")" +
                             own.substr(0, own.find(':')) + R"(", "index": )" + own.substr(own.find(':') + 1) + "}}";
  std::string words = words_ + " rank=" + std::to_string(rank) + " " + more;
  if (options_.proxied) words += " transport=tcp address=" + listening_[place];
  if (processes_[place]) replaced_.push_back(std::move(processes_[place]));
  std::vector<std::pair<std::string, std::string>> environment{{"TF_CONFIG", config}, {kTaskInStep, words}};
  if (options_.apart_for_nccl) environment.emplace_back("NCCL_HOSTID", "machine" + std::to_string(rank));
  processes_[place] = std::make_unique<StartedProgram>(
      "tests/faults_test",
      StartedProgramOptions{.arguments = {"--gtest_filter=TaskInStep.DISABLED_Runs", "--gtest_also_run_disabled_tests",
                                          "--gtest_brief=1"},
                            .environment = environment},
      folders_[place]->path());
  return *processes_[place];
}

std::string ProcessesInStep::error(int rank, std::chrono::seconds longest) {
  EXPECT_TRUE(process(rank).wait(longest).has_value()) << name(rank) << " does not end: " << process(rank).errors();
  return content_of(file(rank, "ended"));
}

bool ProcessesInStep::all_have(const std::string& name) const {
  return becomes_true(
      [&] {
        for (int rank = 0; rank < size(); ++rank) {
          if (!has_file(rank, name)) return false;
        }
        return true;
      },
      std::chrono::seconds(60));
}

void ProcessesInStep::cut_off(int rank) {
  proxies_[static_cast<std::size_t>(rank)]->hold(TcpProxy::Hold::Everything);
  for (auto& proxy : proxies_) {
    if (proxy != proxies_[static_cast<std::size_t>(rank)]) {
      proxy->hold_only(process(rank).id(), TcpProxy::Hold::Everything);
    }
  }
}

}  // namespace cohort::test
