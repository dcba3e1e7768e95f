#include "cohort/core/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "cohort/core/error.h"

namespace cohort {
namespace {

class Counter : public Resource {
 public:
  Counter() : Resource("steps") {}
  const char* kind() const override { return "Counter"; }
};

TEST(Tensor, HoldsValuesOfEveryPlainType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_plain(dtype)) continue;
    visit_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      const T values[] = {static_cast<T>(0.0f), static_cast<T>(1.0f), static_cast<T>(1.0f)};
      const Tensor tensor = Tensor::of(std::span<const T>(values), {3});
      EXPECT_EQ(tensor.dtype(), dtype);
      EXPECT_EQ(tensor.shape(), (Shape{3}));
      EXPECT_EQ(tensor.bytes(), 3 * sizeof(T));
      EXPECT_EQ(tensor.to_vector<double>(), (std::vector<double>{0, 1, 1}));
      EXPECT_EQ(&tensor.device(), &default_device());
      EXPECT_EQ(static_cast<float>(tensor.to_host().template data<T>()[1]), 1.0f);
    });
  }
}

TEST(Tensor, ConvertsWhenReadAsAnotherType) {
  const Tensor floats = Tensor::of({0.0f, -1.75f, 2.5f}, {3});
  EXPECT_EQ(floats.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, -1, 2}));
  EXPECT_EQ(floats.to_vector<bool>(), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(Tensor::of<std::int64_t>({std::int64_t{1} << 40}, {1}).to_vector<double>()[0], 0x1p40);
  EXPECT_THROW(floats.to_host().data<double>(), Error);
}

TEST(Tensor, FullAndScalar) {
  EXPECT_EQ(Tensor::full({2, 2}, 1.5).to_vector<float>(), (std::vector<float>(4, 1.5f)));
  EXPECT_EQ(Tensor::scalar(3, DType::Int32).item<int>(), 3);
  EXPECT_EQ(Tensor::scalar(1, DType::Bool).item<bool>(), true);
  EXPECT_EQ(Tensor::scalar(0.1, DType::BFloat16).item<float>(), static_cast<float>(BFloat16(0.1f)));
  EXPECT_EQ(Tensor::full({0, 3}, 1).to_vector<float>().size(), 0u);
}

TEST(Tensor, RefusesWrongSizesAndShapes) {
  EXPECT_THROW(Tensor::of({1.0f, 2.0f}, {3}), Error);
  EXPECT_THROW(Tensor::of({1.0f}, {kUnknown}), Error);
  EXPECT_THROW(Tensor::of_strings({"a"}, {2}), Error);
  EXPECT_THROW(Tensor::empty(DType::String, {1}), Error);
  EXPECT_THROW(Tensor::empty(DType::Float32, {std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_THROW(Tensor::of({1.0f, 2.0f}, {2}).item<float>(), Error);
  EXPECT_THROW(Tensor::of({1.0f, 2.0f}, {2}).view({3}), Error);
}

TEST(Tensor, AnUndefinedTensorSaysSo) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_THROW(tensor.shape(), Error);
  EXPECT_THROW(tensor.to_vector<float>(), Error);
  EXPECT_EQ(tensor.to_string(), "Tensor(undefined)");
}

TEST(Tensor, FromBlobUsesTheMemoryAndGivesItBack) {
  float memory[] = {1, 2, 3, 4};
  int released = 0;
  {
    Tensor tensor = Tensor::from_blob(memory, DType::Float32, {2, 2}, [&] { ++released; });
    EXPECT_EQ(tensor.raw(), memory);
    EXPECT_EQ(tensor.device().name(), "CPU:0");
    const Tensor view = tensor.view({4}), row = tensor.rows(1, 1);
    EXPECT_EQ(row.raw(), memory + 2);
    tensor = {};
    EXPECT_EQ(released, 0) << "views keep the memory";
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(row.to(default_device()).to_vector<float>(), (std::vector<float>{3, 4}));
  }
  EXPECT_EQ(released, 1);
}

TEST(Tensor, RowsShareMemoryAndAreChecked) {
  const Tensor tensor = Tensor::of<std::int32_t>({1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_EQ(tensor.rows(1, 2).to_vector<int>(), (std::vector<int>{3, 4, 5, 6}));
  EXPECT_EQ(tensor.rows(3, 0).shape(), (Shape{0, 2}));
  EXPECT_THROW(tensor.rows(2, 2), Error);
  EXPECT_THROW(tensor.rows(-1, 1), Error);
  EXPECT_THROW(Tensor::scalar(1).rows(0, 1), Error);
  const Tensor strings = Tensor::of_strings({"a", "b", "c"}, {3});
  EXPECT_EQ(strings.rows(1, 2).to_strings(), (std::vector<std::string>{"b", "c"}));
}

TEST(Tensor, HandlesShareOneBody) {
  const Tensor a = Tensor::scalar(1), b = a;
  EXPECT_TRUE(a.same_as(b));
  EXPECT_EQ(a.identity(), b.identity());
  EXPECT_FALSE(a.same_as(Tensor::scalar(1)));
  const Tensor copy = a.clone();
  EXPECT_NE(copy.raw(), a.raw());
  EXPECT_EQ(&copy.device(), &a.device());
  EXPECT_EQ(copy.item<float>(), 1.0f);
}

TEST(Tensor, StringsAndResourcesStayOnTheHost) {
  const Tensor strings = Tensor::of_strings({"left", "right"}, {2});
  EXPECT_EQ(strings.device().name(), "CPU:0");
  EXPECT_TRUE(strings.to(device_named("TEST:0")).same_as(strings));
  EXPECT_THROW(strings.to_vector<float>(), Error);
  EXPECT_THROW(Tensor::scalar(1).to_strings(), Error);
  const auto counter = std::make_shared<Counter>();
  const Tensor resource = Tensor::of_resource(counter);
  EXPECT_EQ(resource.dtype(), DType::Resource);
  EXPECT_EQ(resource.raw(), counter.get());
  EXPECT_EQ(resource.resource(), counter);
  EXPECT_THROW(resource.to_vector<float>(), Error);
}

TEST(Tensor, ASymbolHasNoValue) {
  constexpr std::uint64_t trace = 1;
  const Tensor symbol = Tensor::symbolic({DType::Float32, {kUnknown, 10}}, {trace, 3, 0});
  EXPECT_TRUE(symbol.is_symbolic());
  EXPECT_EQ(symbol.spec().to_string(), "float32(None, 10)");
  EXPECT_EQ(symbol.to_string(), "Tensor(shape=(None, 10), dtype=float32, symbolic)");
  try {
    symbol.item<float>();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::FailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("while_loop"), std::string::npos) << error.what();
  }
  EXPECT_THROW(symbol.to_vector<float>(), Error);
  EXPECT_THROW(symbol.data<float>(), Error);
  EXPECT_THROW(symbol.raw(), Error);
}

TEST(Tensor, Prints) {
  EXPECT_EQ(Tensor::scalar(2.5).to_string(), "Tensor(shape=(), dtype=float32,\n2.5)");
  EXPECT_EQ(Tensor::of<std::int32_t>({1, 20, 3, 4}, {2, 2}).to_string(),
            "Tensor(shape=(2, 2), dtype=int32,\n[[ 1, 20],\n [ 3,  4]])");
  EXPECT_EQ(Tensor::of({true, false}, {2}).to_string(), "Tensor(shape=(2,), dtype=bool,\n[ true, false])");
  EXPECT_EQ(Tensor::of_strings({"a"}, {1}).to_string(), "Tensor(shape=(1,), dtype=string,\n[\"a\"])");
  EXPECT_EQ(Tensor::full({0}, 1).to_string(), "Tensor(shape=(0,), dtype=float32,\n[])");
  EXPECT_EQ(Tensor::of_resource(std::make_shared<Counter>()).to_string(),
            "Tensor(shape=(), dtype=resource, Counter 'steps')");
  EXPECT_EQ(Tensor::full({2000}, 1, DType::Int32).to_string(),
            "Tensor(shape=(2000,), dtype=int32,\n[1, 1, 1, ..., 1, 1, 1])");
  std::ostringstream out;
  out << Tensor::of({std::nanf(""), std::numeric_limits<float>::infinity()}, {2});
  EXPECT_EQ(out.str(), "Tensor(shape=(2,), dtype=float32,\n[nan, inf])");
}

TEST(TestDevice, ValuesGoThereAndBack) {
  Device& device = device_named("TEST:0");
  const Tensor there = Tensor::of({1.0f, 2.0f}, {2}, device);
  EXPECT_EQ(there.device().name(), "TEST:0");
  EXPECT_EQ(there.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(there.to(device_named("TEST:1")).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(there.to_host().data<float>()[1], 2.0f);
  EXPECT_EQ(there.rows(1, 1).item<float>(), 2.0f);
}

TEST(Renew, UsesMemoryThatNobodyElseHasAgain) {
  Tensor tensor = Tensor::of({1.0f, 2.0f, 3.0f, 4.0f}, {4}, cpu());
  const void* memory = tensor.raw();
  const void* body = tensor.identity();
  tensor.renew(DType::Int32, {2}, cpu());
  EXPECT_EQ(tensor.raw(), memory);
  EXPECT_EQ(tensor.identity(), body);
  EXPECT_EQ(tensor.spec(), (TensorSpec{DType::Int32, {2}}));
  tensor.renew(DType::Float32, {2, 2}, cpu());
  EXPECT_EQ(tensor.raw(), memory) << "there was room for four all the time";
  tensor.renew(DType::Float64, {100}, cpu());
  EXPECT_EQ(tensor.bytes(), 800u);
  EXPECT_GE(tensor.buffer()->bytes(), 800u);
  tensor.renew(DType::Float32, {1}, device_named("TEST:0"));
  EXPECT_EQ(&tensor.device(), &device_named("TEST:0"));
}

TEST(Renew, LeavesOtherOwnersTheirValues) {
  Tensor tensor = Tensor::of({1.0f, 2.0f}, {2}, cpu());
  const Tensor kept = tensor;
  tensor.renew(DType::Float32, {2}, cpu());
  EXPECT_NE(tensor.raw(), kept.raw());
  tensor = Tensor::of({3.0f, 4.0f}, {2}, cpu());
  const Tensor part = tensor.rows(1, 1);
  tensor.renew(DType::Float32, {2}, cpu());
  EXPECT_NE(tensor.buffer(), part.buffer());
  std::vector<float> theirs{5.0f, 6.0f};
  tensor = Tensor::from_blob(theirs.data(), DType::Float32, {2});
  tensor.renew(DType::Float32, {2}, cpu());
  EXPECT_NE(tensor.raw(), theirs.data());
  Tensor strings = Tensor::of_strings({"a"}, {1});
  strings.renew(DType::Bool, {1}, cpu());
  static_cast<bool*>(strings.raw())[0] = true;
  EXPECT_TRUE(strings.item<bool>());
  EXPECT_EQ(kept.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(part.item<float>(), 4.0f);
  EXPECT_EQ(theirs, (std::vector<float>{5, 6}));
}

TEST(Renew, SharesOrCopies) {
  const Tensor source = Tensor::of({1.0f, 2.0f, 3.0f}, {3}, cpu());
  Tensor tensor;
  tensor.renew_over(DType::Float32, {2}, source.buffer(), sizeof(float));
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{2, 3}));
  const void* body = tensor.identity();
  tensor.renew_over(DType::Float32, {1}, source.buffer());
  EXPECT_EQ(tensor.identity(), body);
  EXPECT_EQ(tensor.item<float>(), 1.0f);
  tensor.renew_from(source, cpu());
  EXPECT_TRUE(tensor.same_as(source));
  tensor.renew_from(source, device_named("TEST:0"));
  const void* memory = tensor.raw();
  tensor.renew_from(source.rows(1, 2), device_named("TEST:0"));
  EXPECT_EQ(tensor.raw(), memory);
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{2, 3}));
  Tensor elsewhere;
  elsewhere.renew_from(tensor, device_named("TEST:1"));
  EXPECT_EQ(elsewhere.to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(TestDevice, TheHostCannotReadItsMemory) {
  const Tensor there = Tensor::of({1.0f, 2.0f}, {2}, device_named("TEST:0"));
  try {
    there.data<float>();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::FailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("to_host()"), std::string::npos);
  }
}

TEST(TestDeviceDeathTest, FollowingItsPointersFaults) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Tensor there = Tensor::of({1.0f, 2.0f}, {2}, device_named("TEST:0"));
  EXPECT_DEATH(
      {
        volatile float value = *static_cast<const volatile float*>(there.raw());
        static_cast<void>(value);
      },
      "");
}

}  // namespace
}  // namespace cohort
