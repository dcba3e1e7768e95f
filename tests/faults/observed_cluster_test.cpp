// What can be seen of a job whose tasks are processes: what went wrong on the way, a trace of all of them, and who is
// slower than the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "cohort/cohort.h"
#include "cohort/distribute/coordinator/cluster_runtime.h"
#include "cohort/files/atomic_file.h"
#include "tests/faults/own_tasks.h"
#include "tests/faults/summing.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"
#include "tests/support/paths.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

nlohmann::json trace_in(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().string().ends_with(".trace.json")) return nlohmann::json::parse(read_file(entry.path()));
  }
  return {};
}

struct TracedSpan {
  std::string process, name;
  double begin = 0, end = 0;
};

// By flow, those of each in the order in which they began.
std::map<std::uint64_t, std::vector<TracedSpan>> flows_of(const nlohmann::json& trace) {
  std::map<int, std::string> processes;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "process_name") processes[event.at("pid")] = event.at("args").at("name");
  }
  std::map<std::uint64_t, std::vector<TracedSpan>> flows;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || !event.contains("args") || !event.at("args").contains("flow")) continue;
    const double begin = event.at("ts"), duration = event.at("dur");
    flows[event.at("args").at("flow")].push_back(
        {processes.at(event.at("pid")), event.at("name"), begin, begin + duration});
  }
  for (auto& [flow, spans] : flows) {
    std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }
  return flows;
}

const TracedSpan* find_span(const std::vector<TracedSpan>& spans, const std::string& process, const std::string& name) {
  const auto found = std::find_if(spans.begin(), spans.end(), [&](const TracedSpan& span) {
    return span.process.starts_with(process) && span.name == name;
  });
  return found == spans.end() ? nullptr : &*found;
}

TEST(ClusterTrace, FollowsAClosureFromTheChiefThroughAWorkerToThePs) {
  const Deadline deadline(120s);
  ProcessCluster cluster(2, 1);
  distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()));
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 2});
  const TemporaryFolder folder;
  const Dataset data = datasets::from_tensor_slices(Tensor::full({200, 2}, 1.0), Tensor::full({200, 1}, 1.0)).batch(1);
  model.fit(data, {.verbose = 0,
                   .callbacks = {callbacks::TensorBoard({.log_dir = folder.path(), .profile_batch = {20, 60}})}});
  const nlohmann::json trace = trace_in(folder.path());
  ASSERT_TRUE(trace.is_object());
  const auto flows = flows_of(trace);
  constexpr double kTolerance = 2000;  // microseconds; half a round trip, on a machine that others use
  int whole = 0;
  for (const auto& [closure, spans] : flows) {
    const TracedSpan* sent = find_span(spans, "chief", "send closure");
    const TracedSpan* run = find_span(spans, "worker:", "closure");
    const TracedSpan* taken = find_span(spans, "chief", "take result");
    if (!sent || !run || !taken) continue;  // begun before, or not over
    ++whole;
    EXPECT_LE(sent->begin, run->begin + kTolerance);
    EXPECT_LE(run->end, taken->begin + kTolerance);
    int pushes = 0, exchanges = 0, computes = 0;
    for (const TracedSpan& span : spans) {
      const bool on_worker = span.process == run->process;
      computes += on_worker && span.name == "compute";
      pushes += on_worker && span.name == "push";
      if (span.process != "ps:0" || span.name != "exchange") continue;
      ++exchanges;
      const bool within_push = std::any_of(spans.begin(), spans.end(), [&](const TracedSpan& push) {
        return push.name == "push" && push.begin <= span.begin + kTolerance && span.end <= push.end + kTolerance;
      });
      EXPECT_TRUE(within_push) << "closure " << closure;
    }
    EXPECT_EQ(pushes, 2);
    EXPECT_EQ(exchanges, 2);
    EXPECT_GE(computes, 2);
  }
  EXPECT_GE(whole, 5);
  // Arrows begin once and end once, and every event has what a viewer needs.
  std::map<std::uint64_t, std::string> arrows;
  for (const auto& event : trace.at("traceEvents")) {
    EXPECT_TRUE(event.at("pid").is_number_integer() && event.at("tid").is_number_integer());
    const std::string kind = event.at("ph");
    EXPECT_TRUE(kind != "X" || event.at("dur").get<double>() >= 0.0);
    if (kind == "s" || kind == "t" || kind == "f") arrows[event.at("id")] += kind;
  }
  for (const auto& [flow, kinds] : arrows) EXPECT_EQ(kinds, "s" + std::string(kinds.size() - 2, 't') + "f");
  EXPECT_GE(arrows.size(), 5u);
}

TEST(ClusterStatus, CountsWhatWasLostAndFoundAgainAndWhatWasSentAgain) {
  const Deadline deadline(120s);
  ProcessCluster cluster(2, 2, kPayload);
  const distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), kOnBothServers);
  EXPECT_EQ(fit_sums(strategy, 50), expected_sums(50));
  const auto worker = [&](std::size_t index) { return distribute::cluster_status(cluster.spec()).at(2 + index); };
  EXPECT_EQ(worker(0).recoveries, 0u);
  EXPECT_EQ(worker(0).retries, 0u);
  cluster.worker(0).kill();
  cluster.worker(0).start();
  EXPECT_TRUE(becomes_true([&] { return worker(0).recoveries == 1; }));
  EXPECT_EQ(worker(1).recoveries, 0u);
  const auto was_sent_again = [&] {
    auto training = std::async(std::launch::async, [&] { return fit_sums(strategy, 1000); });
    // Steps are made between two cuts, however long it takes to find each other again.
    for (std::uint64_t replies = 0; training.wait_for(20ms) != std::future_status::ready;) {
      if (cluster.proxy(0).replies() < replies + 50) continue;
      replies = cluster.proxy(0).replies();
      cluster.proxy(0).cut();
    }
    EXPECT_EQ(training.get(), expected_sums(1000));
    return worker(0).retries + worker(1).retries > 0;
  };
  EXPECT_TRUE(becomes_true(was_sent_again));
}

TEST(Stragglers, AreNamedOnceWithTheirStepTime) {
  const Deadline deadline(120s);
  OwnTasks tasks(4, 1);
  distribute::ClusterRuntimeOptions options;
  options.dispatch.stuck.pause = 100ms;
  options.dispatch.stuck.stragglers.window = 500ms;
  const distribute::ParameterServerStrategy strategy(
      std::make_shared<distribute::ClusterRuntime>(tasks.spec(), options));
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  const DatasetCreator data([](const InputContext& context) {
    return counted_source({.takes = context.input_pipeline_id == 2 ? 60ms : 10ms});
  });
  testing::internal::CaptureStderr();
  model.fit(data, {.verbose = 0, .steps_per_epoch = 1200});
  const std::string told = testing::internal::GetCapturedStderr();
  const std::string line = "worker:2 is a straggler: its steps take ";
  const auto first = told.find(line);
  ASSERT_NE(first, std::string::npos) << told;
  EXPECT_EQ(told.find("straggler", first + line.size()), std::string::npos) << told;
  EXPECT_THAT(told, HasSubstr("against a median of 1"));
}

}  // namespace
}  // namespace cohort::test
