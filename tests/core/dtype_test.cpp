#include "cohort/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "cohort/core/error.h"

namespace cohort {
namespace {

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

TEST(DType, NamesGoRound) {
  for (DType dtype : all_dtypes()) EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
  EXPECT_STREQ(to_string(DType::Float32), "float32");
  EXPECT_STREQ(to_string(DType::Bool), "bool");
  std::ostringstream out;
  out << DType::BFloat16;
  EXPECT_EQ(out.str(), "bfloat16");
  EXPECT_THROW(dtype_from_string("float31"), Error);
  EXPECT_THROW(dtype_from_string(""), Error);
  EXPECT_THROW(dtype_from_string("Float32"), Error);
}

TEST(DType, SizesAreThoseOfTheCppTypes) {
  for (DType dtype : all_dtypes()) {
    if (is_plain(dtype)) {
      visit_dtype(dtype, [&](auto zero) {
        EXPECT_EQ(size_of(dtype), sizeof(zero));
        EXPECT_EQ(dtype_of<decltype(zero)>, dtype);
      });
    } else {
      EXPECT_EQ(size_of(dtype), 0u);
    }
  }
}

TEST(DType, NumbersInFilesStay) {
  EXPECT_EQ(static_cast<int>(DType::Bool), 0);
  EXPECT_EQ(static_cast<int>(DType::Int64), 4);
  EXPECT_EQ(static_cast<int>(DType::Float32), 7);
  EXPECT_EQ(static_cast<int>(DType::Resource), 10);
}

TEST(DType, Kinds) {
  EXPECT_TRUE(is_floating(DType::BFloat16));
  EXPECT_FALSE(is_floating(DType::Int32));
  EXPECT_TRUE(is_integer(DType::UInt8));
  EXPECT_FALSE(is_integer(DType::Bool));
  EXPECT_FALSE(is_number(DType::Bool));
  EXPECT_FALSE(is_plain(DType::String));
}

TEST(DType, PromotionIsKerass) {
  using enum DType;
  EXPECT_EQ(promote(Bool, Bool), Bool);
  EXPECT_EQ(promote(Bool, Int8), Int8);
  EXPECT_EQ(promote(UInt8, Int8), Int32);  // Keras says int16, which is not here
  EXPECT_EQ(promote(UInt8, Int32), Int32);
  EXPECT_EQ(promote(Int32, Int64), Int64);
  EXPECT_EQ(promote(Int64, Float16), Float16);
  EXPECT_EQ(promote(Int64, Float32), Float32);
  EXPECT_EQ(promote(Float16, BFloat16), Float32);
  EXPECT_EQ(promote(BFloat16, Float32), Float32);
  EXPECT_EQ(promote(Float32, Float64), Float64);
  EXPECT_EQ(promote(String, String), String);
  EXPECT_THROW(promote(String, Float32), Error);
  EXPECT_THROW(promote(Resource, Int32), Error);
  for (DType a : all_dtypes()) {
    for (DType b : all_dtypes()) {
      if (!is_plain(a) || !is_plain(b)) continue;
      EXPECT_EQ(promote(a, b), promote(b, a));
    }
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  const auto bits = [](float x) { return BFloat16(x).bits; };
  EXPECT_EQ(bits(1.0f), 0x3f80);
  EXPECT_EQ(bits(1.0f + 0x1p-8f), 0x3f80);             // half way, down to even
  EXPECT_EQ(bits(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);  // just above half way
  EXPECT_EQ(bits(1.0f + 3 * 0x1p-8f), 0x3f82);         // half way, up to even
  EXPECT_EQ(bits(-1.0f), 0xbf80);
  EXPECT_EQ(bits(-0.0f), 0x8000);
  EXPECT_EQ(bits(std::numeric_limits<float>::max()), 0x7f80);  // rounds up to infinity
  EXPECT_EQ(bits(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(static_cast<float>(BFloat16(3.140625f)), 3.140625f);
}

TEST(BFloat16, NanStaysNanWhateverItsPayload) {
  for (std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu, 0x7fc00000u}) {
    EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(bits))))) << std::hex << bits;
  }
}

TEST(BFloat16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    BFloat16 value;
    value.bits = static_cast<std::uint16_t>(i);
    const float wide = value;
    if (std::isnan(wide)) continue;
    ASSERT_EQ(BFloat16(wide).bits, i);
  }
}

TEST(Half, RoundsToNearestEvenAndOverflowsToInfinity) {
  EXPECT_EQ(static_cast<float>(Half(1.0f + 0x1p-11f)), 1.0f);
  EXPECT_EQ(static_cast<float>(Half(1.0f + 3 * 0x1p-11f)), 1.0f + 0x1p-9f);
  EXPECT_EQ(static_cast<float>(Half(65504.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Half(65520.0f))));
  EXPECT_EQ(static_cast<float>(Half(0x1p-24f)), 0x1p-24f);  // the smallest subnormal
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
}

}  // namespace
}  // namespace cohort
