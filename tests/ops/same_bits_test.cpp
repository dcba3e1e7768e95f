#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "cohort/core/cpu_level.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/kernel.h"
#include "cohort/core/text.h"
#include "cohort/core/thread_share.h"
#include "tests/ops/op_samples.h"
#include "tests/support/busy_caller.h"
#include "tests/support/op_check.h"
#include "tests/support/thread_rounds.h"

namespace cohort::test {
namespace {

// Ops that no sample calls, each with the reason.
const std::map<std::string, const char*> kWithoutSample = {
    {"Call", "runs a graph of other ops"},
    {"Cond", "runs a graph of other ops"},
    {"CustomGradient", "runs a graph of other ops"},
    {"JoinedSteps", "runs other ops one after the other"},
    {"Remat", "runs a graph of other ops"},
    {"Scan", "runs a graph of other ops"},
    {"While", "runs a graph of other ops"},
    {"AdamSlicesUpdate", "made by a pass for CPUs alone; tests/optimizers compares its bits"},
    {"InitialValue", "runs an initializer, which is made of other ops"},
    {"IteratorNext", "hands over what a dataset made"},
    {"AllReduce", "meets other replicas"},
    {"BroadcastFirst", "meets other replicas"},
    {"GatherReplicas", "meets other replicas"},
    {"AllReduceRows", "meets other replicas"},
    {"AllReduceStart", "meets other replicas"},
    {"AllReduceWait", "meets other replicas"},
};

// Notes the names of the ops that run on this thread.
class RunOps : public Dispatcher {
 public:
  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override {
    names.insert(op.name());
    return dispatch_below(op, inputs, attributes);
  }
  std::set<std::string> names;
};

// A number for the bits of each tensor; those of a call's results are many.
std::vector<std::size_t> bits_of(const Tensors& tensors) {
  std::vector<std::size_t> bits;
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() == DType::String) {
      bits.push_back(std::hash<std::string>()(join(tensor.to_strings())));
      continue;
    }
    const Tensor here = tensor.to_host();
    bits.push_back(std::hash<std::string_view>()({static_cast<const char*>(here.raw()), here.bytes()}));
  }
  return bits;
}

// The largest difference in units of the golden cases' tolerance; of 16-bit types in units of two roundings. Sums may
// cancel, so an element counts as no smaller than a tenth of the largest.
double share_of_tolerance(const Tensor& got, const Tensor& want) {
  if (got.spec() != want.spec()) return std::numeric_limits<double>::infinity();
  if (want.dtype() == DType::String) return got.to_strings() == want.to_strings() ? 0 : 2;
  const double relative = is_floating(want.dtype()) ? std::max(1e-4, 2 * tolerance(want.dtype())) : 0;
  const std::vector<double> seen = got.to_vector<double>(), expected = want.to_vector<double>();
  double largest = 1, share = 0;
  for (double each : expected) {
    if (std::isfinite(each)) largest = std::max(largest, std::abs(each));
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == expected[i] || (std::isnan(seen[i]) && std::isnan(expected[i]))) continue;
    const double allowed = relative * std::max(0.1 * largest, std::abs(expected[i]));
    const double here = std::abs(seen[i] - expected[i]) / allowed;
    share = std::max(share, std::isnan(here) ? std::numeric_limits<double>::infinity() : here);
  }
  return share;
}

TEST(OpSamples, EveryOpWithAKernelHasASampleOrAReason) {
  RunOps run_ops;
  {
    const DispatcherScope scope(run_ops);
    for (const OpSample& sample : op_samples()) {
      SCOPED_TRACE(sample.name);
      EXPECT_NO_THROW(results_of(sample));
    }
  }
  std::vector<std::string> lacking, needless;
  for (const OpDef* op : all_ops()) {
    if (!has_kernel(op->name(), kCPU)) continue;
    const bool excused = kWithoutSample.count(op->name()) > 0, sampled = run_ops.names.count(op->name()) > 0;
    if (!excused && !sampled) lacking.push_back(op->name());
    if (excused && sampled) needless.push_back(op->name());
  }
  EXPECT_TRUE(lacking.empty()) << "no sample calls: " << join(lacking);
  EXPECT_TRUE(needless.empty()) << "excused, but sampled: " << join(needless);
}

class SameBits : public testing::Test {
 protected:
  // The first time it notes the bits of every sample's results, from then on it compares.
  void check_all() {
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const std::vector<std::size_t> bits = bits_of(results_of(samples_[i]));
      if (first_.size() == i) first_.push_back(bits);
      EXPECT_EQ(bits, first_[i]) << samples_[i].name;
    }
  }

  const PoolThreads threads_;

 private:
  const OpSamples samples_ = op_samples();
  std::vector<std::vector<std::size_t>> first_;
};

TEST_F(SameBits, OfEveryOpOnAnyNumberOfThreadsBesideAnotherCaller) {
  for (const ThreadRound& round : kThreadRounds) {
    SCOPED_TRACE(round.in_words());
    threads_.set(round.threads);
    BusyCaller busy;
    const ThreadShare share(round.share);
    check_all();
    EXPECT_TRUE(busy.stop());
  }
}

// As a parallel map calls them.
TEST_F(SameBits, OfEveryOpInsideABlockOfThePool) {
  threads_.set(1);
  check_all();
  threads_.set(5);
  ThreadPool::instance().run_blocks(2, [&](std::int64_t block) {
    if (block == 0) check_all();
  });
}

TEST(CpuLevels, AgreeWithTheBaselineInEveryOp) {
  if (available_cpu_levels().size() == 1) GTEST_SKIP() << "this machine has the baseline alone";
  for (const OpSample& sample : op_samples()) {
    SCOPED_TRACE(sample.name);
    Tensors want;
    for (std::string_view level : available_cpu_levels()) {
      SCOPED_TRACE(level);
      const CpuLevelScope scope(level);
      const Tensors got = results_of(sample);
      if (want.empty()) want = got;
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(share_of_tolerance(got[i], want[i]), 1) << "result " << i;
    }
  }
}

TEST(CpuLevels, DrawTheSameRandomNumbers) {
  OpSamples samples;
  add_random_samples(samples);
  for (const OpSample& sample : samples) {
    std::vector<std::size_t> first;
    for (std::string_view level : available_cpu_levels()) {
      const CpuLevelScope scope(level);
      const std::vector<std::size_t> bits = bits_of(results_of(sample));
      if (first.empty()) first = bits;
      EXPECT_EQ(bits, first) << sample.name << " at the level " << level;
    }
  }
}

}  // namespace
}  // namespace cohort::test
