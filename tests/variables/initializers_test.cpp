#include "cohort/variables/initializers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cohort/core/random.h"
#include "cohort/saving/config_json.h"
#include "tests/support/op_check.h"
#include "tests/support/thread_rounds.h"

namespace cohort::initializers {
namespace {

struct Moments {
  double mean, deviation, largest;
};

Moments moments(const Ref<Initializer>& initializer, const Shape& shape) {
  const std::vector<float> values = (*initializer)(shape, DType::Float32).to_vector<float>();
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0, largest = 0;
  for (float value : values) {
    squares += (value - mean) * (value - mean);
    largest = std::max(largest, std::abs(value - mean));
  }
  return {mean, std::sqrt(squares / count), largest};
}

TEST(Initializers, ScalingFollowsTheFans) {
  const Shape shape = {300, 100};
  EXPECT_NEAR(moments("glorot_uniform", shape).deviation, std::sqrt(2.0 / 400), 1e-3);
  EXPECT_LE(moments("glorot_uniform", shape).largest, std::sqrt(6.0 / 400) + 1e-3);
  EXPECT_NEAR(moments("he_normal", shape).deviation, std::sqrt(2.0 / 300), 1e-3);
  EXPECT_NEAR(moments("lecun_uniform", shape).deviation, std::sqrt(1.0 / 300), 1e-3);
  EXPECT_NEAR(moments(VarianceScaling({.mode = "fan_out", .distribution = "untruncated_normal"}), shape).deviation,
              std::sqrt(1.0 / 100), 2e-3);
  EXPECT_EQ(compute_fans({3, 3, 8, 16}), (std::pair<std::int64_t, std::int64_t>(72, 144)));
  EXPECT_EQ(compute_fans({7}), (std::pair<std::int64_t, std::int64_t>(7, 7)));
}

TEST(Initializers, RandomNumbersHaveTheirDistribution) {
  const Moments normal = moments(RandomNormal({.mean = 0.5, .stddev = 0.2}), {200, 200});
  EXPECT_NEAR(normal.mean, 0.5, 5e-3);
  EXPECT_NEAR(normal.deviation, 0.2, 5e-3);
  EXPECT_GT(normal.largest, 0.5);
  const Moments truncated = moments(TruncatedNormal({.stddev = 0.5}), {200, 200});
  EXPECT_LT(truncated.largest, 1.01);
  EXPECT_NEAR(truncated.deviation, 0.5 * 0.8796, 5e-3);
  const Moments uniform = moments(RandomUniform({.minval = 1, .maxval = 3}), {200, 200});
  EXPECT_NEAR(uniform.mean, 2.0, 1e-2);
  EXPECT_LE(uniform.largest, 1.01);
}

TEST(Initializers, ASeedDecidesTheValues) {
  const GlorotUniform seeded({.seed = 3});
  const auto draw = [](const Ref<Initializer>& from) { return (*from)({4, 5}, DType::Float32).to_vector<float>(); };
  EXPECT_EQ(draw(seeded), draw(GlorotUniform({.seed = 3})));
  EXPECT_NE(draw(seeded), draw(GlorotUniform({.seed = 4})));
  EXPECT_NE(draw("glorot_uniform"), draw("glorot_uniform"));
  set_random_seed(7);
  const std::vector<float> first = draw("he_normal");
  set_random_seed(7);
  EXPECT_EQ(draw("he_normal"), first);
}

// Numbers of a seed's stream one after the other: a word is a uniform number, two words are two normal ones.
TEST(Initializers, NumbersFollowTheirStreamOnAnyNumberOfThreads) {
  const std::int64_t most = 50'003;
  const PhiloxStream stream(RandomState{}, 5, 0);
  std::vector<float> uniform, normal, truncated;
  for (std::uint64_t block = 0; static_cast<std::int64_t>(truncated.size()) < most; ++block) {
    const auto words = stream.block(block);
    for (std::size_t i = 0; i < words.size(); ++i) {
      uniform.push_back(to_unit_float(words[i]));
      normal.push_back(to_normal(words[i / 2 * 2], words[i / 2 * 2 + 1])[i % 2]);
      if (std::abs(normal.back()) < 2.0f) truncated.push_back(normal.back());
    }
  }
  const test::PoolThreads threads;
  for (const int count : {1, 3, 8}) {
    threads.set(count);
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{6}, most}) {
      const auto expect = [&](const Ref<Initializer>& initializer, const std::vector<float>& numbers) {
        const std::vector<float> first(numbers.begin(), numbers.begin() + size);
        EXPECT_EQ((*initializer)({size}, DType::Float32).to_vector<float>(), first) << size;
      };
      expect(RandomUniform({.minval = 0.0, .maxval = 1.0, .seed = 5}), uniform);
      expect(RandomNormal({.mean = 0.0, .stddev = 1.0, .seed = 5}), normal);
      expect(TruncatedNormal({.mean = 0.0, .stddev = 1.0, .seed = 5}), truncated);
    }
  }
}

TEST(Initializers, ConstantsAndIdentity) {
  EXPECT_EQ((*Constant(0.25))({2}, DType::Float32).to_vector<float>(), (std::vector<float>{0.25, 0.25}));
  const Constant column({{1.0}, {2.0}});
  EXPECT_EQ((*column)({2, 2}, DType::Float32).to_vector<float>(), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_THROW((*column)({3, 2}, DType::Float32), Error);
  EXPECT_THROW((*column)({2}, DType::Float32), Error);
  EXPECT_EQ((*Ones())({2}, DType::Int32).to_vector<int>(), (std::vector<int>{1, 1}));
  EXPECT_EQ((*Identity(2.0))({2, 3}, DType::Float64).to_vector<float>(), (std::vector<float>{2, 0, 0, 0, 2, 0}));
  test::expect_error([] { (*Identity())({3}, DType::Float32); }, {"matrix", "(3,)"});
}

TEST(Initializers, OrthogonalColumns) {
  const std::vector<float> values = (*Orthogonal({.gain = 2.0, .seed = 1}))({6, 4}, DType::Float32).to_vector<float>();
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      double dot = 0;
      for (int row = 0; row < 6; ++row) {
        dot += values[static_cast<std::size_t>(row * 4 + a)] * values[static_cast<std::size_t>(row * 4 + b)];
      }
      EXPECT_NEAR(dot, a == b ? 4.0 : 0.0, 1e-5);
    }
  }
}

// Made by Gram-Schmidt in double; the factor with a positive diagonal is the only one there is.
TEST(Initializers, OrthogonalHasTheSignsOfAPositiveDiagonal) {
  const std::vector<float> tall = (*Orthogonal({.seed = 5}))({3, 2}, DType::Float32).to_vector<float>();
  const std::vector<float> wide = (*Orthogonal({.seed = 5}))({2, 3}, DType::Float32).to_vector<float>();
  const std::vector<double> columns = {-0.43890592, 0.56875873, -0.69561136, 0.18731323, -0.69923860, -0.68991244};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    EXPECT_NEAR(tall[i % 3 * 2 + i / 3], columns[i], 1e-6);
    EXPECT_NEAR(wide[i], columns[i], 1e-6);
  }
}

TEST(Initializers, NamesAndConfigs) {
  for (const char* name : {"zeros", "Zeros", "glorot_normal", "GlorotNormal", "orthogonal", "truncated_normal"}) {
    EXPECT_TRUE(Ref<Initializer>(name));
  }
  EXPECT_NE(to_json(*HeUniform({.seed = 5})).find("HeUniform"), std::string::npos);
  VarianceScalingInitializer read;
  test::expect_error([&] { from_json(read, R"({"scale": -1.0})"); }, {"scale", "positive"});
  test::expect_error([&] { VarianceScaling({.mode = "fan"}); }, {"fan_in"});
}

}  // namespace
}  // namespace cohort::initializers
