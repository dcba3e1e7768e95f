// What optimizers make of rows that several replicas have, and how often they cross.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/core/device.h"
#include "cohort/ops/ops.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/replica_context.h"

namespace cohort {
namespace {

// The collective of one of two replicas whose values are always the same.
class Twins : public Collective {
 public:
  explicit Twins(bool gathers, bool pays = true) : Collective("twins"), gathers_(gathers), pays_(pays) {}

  void all_reduce(std::span<const Part> parts, const void* const* inputs, void* const* outputs, Reduction) override {
    ++reductions;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ASSERT_EQ(parts[i].dtype, DType::Float32);
      for (std::int64_t k = 0; k < parts[i].elements; ++k) {
        static_cast<float*>(outputs[i])[k] = 2 * static_cast<const float*>(inputs[i])[k];
      }
    }
  }
  bool gathers_rows() const override { return gathers_; }
  bool gather_rows(const Rows& rows, std::int64_t, UseRows use) override {
    ++gathers;
    if (pays_) use(std::array{rows, rows});
    return pays_;
  }

  int reductions = 0, gathers = 0;

 private:
  const bool gathers_, pays_;
};

constexpr std::int64_t kRows = 3000, kWidth = 4, kSlices = 7;  // enough for rows to cross

Tensor numbers(std::int64_t rows, double first) {
  return ops::reshape(ops::cast(ops::arange(first, first + static_cast<double>(rows * kWidth), 1.0), DType::Float32),
                      {rows, kWidth}) *
         0.01;
}

IndexedSlices slices(const Variable& table, int times) {
  std::vector<std::int64_t> indices;
  std::vector<float> values;
  const std::vector<float> own =
      (numbers(kSlices, 1.0) * Tensor::of<float>({1, -1, 1, -1}, {kWidth})).to_vector<float>();
  for (int time = 0; time < times; ++time) {
    for (std::int64_t i = 0; i < kSlices; ++i) indices.push_back(i / 2 * 100);
    values.insert(values.end(), own.begin(), own.end());
  }
  return {Tensor::of(values, {kSlices * times, kWidth}), Tensor::of(indices, {kSlices * times}), table.value()};
}

// The table after two steps by the rows of both, which are all there are or come from each.
std::vector<float> moved(const Ref<Optimizer>& optimizer, const std::shared_ptr<Twins>& twins) {
  const Variable table(numbers(kRows, 0.0), {.name = "embedding"});
  const Variable share(Tensor::scalar(0.5f), {.name = "loss_share"});
  for (int step = 0; step < 2; ++step) {
    if (twins) {
      const ReplicaContext replica(0, 2, Tensor::of_resource(twins), share);
      const ReplicaScope here(&replica);
      optimizer->apply({slices(table, 1)}, {table});
    } else {
      optimizer->apply({slices(table, 2)}, {table});
    }
  }
  return read_now(table).to_vector<float>();
}

std::vector<std::function<Ref<Optimizer>()>> optimizers_that_see_rows() {
  return {[] { return optimizers::SGD(0.1, {.momentum = 0.9}); },
          [] { return optimizers::Adam(0.01); },
          [] { return optimizers::Adamax(0.01); },
          [] { return optimizers::Adafactor(0.01); },
          [] { return optimizers::Muon(0.01); },
          [] { return optimizers::RMSprop(0.01); }};
}

class RowsOverReplicas : public testing::Test {
 protected:
  const DefaultDeviceScope device_{&cpu()};  // rows cross between CPUs
};

TEST_F(RowsOverReplicas, CrossOnceInAStep) {
  for (const auto& make : optimizers_that_see_rows()) {
    const Ref<Optimizer> optimizer = make();
    SCOPED_TRACE(optimizer->class_name());
    const auto twins = std::make_shared<Twins>(true);
    EXPECT_EQ(moved(optimizer, twins), moved(make(), nullptr));
    EXPECT_EQ(twins->gathers, 2);
    EXPECT_EQ(twins->reductions, 0);
  }
}

TEST_F(RowsOverReplicas, CrossAsTablesWhereThoseAreLess) {
  for (const auto& make : optimizers_that_see_rows()) {
    const Ref<Optimizer> optimizer = make();
    SCOPED_TRACE(optimizer->class_name());
    const std::vector<float> alone = moved(make(), nullptr);
    for (const bool gathers : {false, true}) {
      const auto twins = std::make_shared<Twins>(gathers, /*pays=*/false);
      const std::vector<float> together = moved(make(), twins);
      for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(together[i], alone[i], 2e-5) << i;
      EXPECT_EQ(twins->reductions, 2);
    }
  }
}

}  // namespace
}  // namespace cohort
