#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/strategies/replica_set.h"
#include "cohort/optimizers/replica_gradients.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"

namespace cohort::distribute {
namespace {

using cohort::test::waves;

constexpr std::int64_t kLayers = 6, kUnits = 256;

// What a worker writes down of its steps.
struct WorkerSteps {
  std::vector<Timeline> timelines = std::vector<Timeline>(5);
  std::vector<std::vector<float>> weights;
};

void train_worker(const std::shared_ptr<collective::Communicator>& rank, const ReplicaSetOptions& crossing,
                  WorkerSteps& result) {
  ReplicaSet set({&cpu()}, rank, crossing);
  std::vector<Variable> weights;
  for (int i = 0; i < kLayers; ++i) weights.emplace_back(waves({kUnits, kUnits}, 7 + i) * 0.1);
  const Function step = function([&](const Tensor& x) {
    GradientTape tape;
    Tensor y = x;
    for (const Variable& weight : weights) y = ops::tanh(ops::matmul(y, weight.value()));
    const Tensor loss = ops::sum(y * y);
    const ReplicaGradients gradients(tape.gradient(loss, weights));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i].assign_sub(gradients.summed()[i].dense() * 1e-4);
    return loss;
  });
  const Tensor x = waves({kUnits, kUnits}, 5 + rank->rank());
  set.run_code({1}, [&](int) {
    step(x);  // which compiles it
    for (Timeline& timeline : result.timelines) {
      const TimelineScope scope(timeline);
      step(x);
    }
  });
  for (const Variable& weight : weights) result.weights.push_back(weight.value().to_vector<float>());
}

std::vector<WorkerSteps> train_workers(const ReplicaSetOptions& crossing) {
  std::vector<WorkerSteps> results(2);
  std::vector<std::thread> threads;
  auto ranks = collective::make_local_communicators(2);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i, rank = std::shared_ptr(std::move(ranks[i]))] {
      EXPECT_EQ(cohort::test::error_of([&] { train_worker(rank, crossing, results[i]); }), "");
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// When the last op of the backward pass ended: the last before the first wait that is no start.
std::optional<Timeline::Clock::time_point> end_of_backward(const Timeline& timeline) {
  std::optional<Timeline::Clock::time_point> end;
  for (const Timeline::Span& span : timeline.spans()) {
    if (!span.work) continue;
    if (span.work->op == "AllReduceWait") return end;
    if (span.work->op != "AllReduceStart") end = span.end;
  }
  return std::nullopt;
}

std::vector<Timeline::Span> crossings(const Timeline& timeline) {
  for (const TimelineTrack& lane : timeline.lanes()) {
    if (lane.thread == "workers in step") return lane.timeline.spans();
  }
  return {};
}

TEST(OverlappedPacks, LeaveWhileTheBackwardPassGoesOn) {
  const std::vector<WorkerSteps> workers =
      train_workers({.group = {.has_thread = true}, .bytes_per_pack = kUnits * kUnits * 4, .threads = 1});
  for (const WorkerSteps& worker : workers) {
    int left_early = 0;
    for (const Timeline& timeline : worker.timelines) {
      const std::vector<Timeline::Span> crossed = crossings(timeline);
      EXPECT_EQ(crossed.size(), static_cast<std::size_t>(kLayers));
      const auto end = end_of_backward(timeline);
      ASSERT_TRUE(end);
      if (!crossed.empty() && crossed[0].begin < *end) ++left_early;
    }
    // A thread may be woken late where others have the cores.
    EXPECT_GE(left_early, 1);
  }
}

TEST(OverlappedPacks, GiveTheSameBitsHoweverTheyCross) {
  const std::vector<WorkerSteps> together = train_workers({});
  for (const bool has_thread : {false, true}) {
    const auto packs = train_workers({.group = {.has_thread = has_thread}, .bytes_per_pack = 300'000});
    const auto again = train_workers({.group = {.has_thread = has_thread}, .bytes_per_pack = 300'000});
    EXPECT_EQ(packs[0].weights, packs[1].weights);
    EXPECT_EQ(packs[0].weights, again[0].weights);
    EXPECT_EQ(packs[0].weights, together[0].weights);  // of two workers, whose sums have one order
  }
}

}  // namespace
}  // namespace cohort::distribute
