#include "cohort/callbacks/python_format.h"

#include <gtest/gtest.h>

#include <limits>

namespace cohort::callbacks {
namespace {

TEST(PythonNumber, IsWhatPythonPrints) {
  EXPECT_EQ(python_number(0.1), "0.1");
  EXPECT_EQ(python_number(1.0), "1.0");
  EXPECT_EQ(python_number(0.0), "0.0");
  EXPECT_EQ(python_number(-2.5), "-2.5");
  EXPECT_EQ(python_number(100000.0), "100000.0");
  EXPECT_EQ(python_number(1e16), "1e+16");
  EXPECT_EQ(python_number(0.0001), "0.0001");
  EXPECT_EQ(python_number(0.00001), "1e-05");
  EXPECT_EQ(python_number(0.05000000074505806), "0.05000000074505806");
  EXPECT_EQ(python_number(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(python_number(-std::numeric_limits<double>::infinity()), "-inf");
}

struct Formatted {
  double value;
  bool integer;
  const char* format;
  const char* text;
};

// Made with Python 3.11's format().
constexpr Formatted kFormatted[] = {
    {3, true, "", "3"},
    {3, true, "d", "3"},
    {3, true, "02d", "03"},
    {3, true, "4d", "   3"},
    {3, true, "<4d", "3   "},
    {3, true, "^5d", "  3  "},
    {3, true, "*^6d", "**3***"},
    {3, true, "+d", "+3"},
    {3, true, " d", " 3"},
    {3, true, "05", "00003"},
    {3, true, "x", "3"},
    {3, true, "#x", "0x3"},
    {3, true, "08b", "00000011"},
    {3, true, ",", "3"},
    {3, true, "_", "3"},
    {3, true, ".1f", "3.0"},
    {3, true, "%", "300.000000%"},
    {3, true, "e", "3.000000e+00"},
    {1234567, true, ",", "1,234,567"},
    {1234567, true, "_", "1_234_567"},
    {1234567, true, "012,", "0,001,234,567"},
    {1234567, true, "d", "1234567"},
    {1234567, true, ".2e", "1.23e+06"},
    {0.12345, false, "", "0.12345"},
    {0.12345, false, ".2f", "0.12"},
    {0.12345, false, "8.3f", "   0.123"},
    {0.12345, false, "08.3f", "0000.123"},
    {0.12345, false, ".1%", "12.3%"},
    {0.12345, false, "+.3f", "+0.123"},
    {0.12345, false, ".3", "0.123"},
    {0.12345, false, "e", "1.234500e-01"},
    {0.12345, false, ".1e", "1.2e-01"},
    {0.12345, false, "G", "0.12345"},
    {0.12345, false, "g", "0.12345"},
    {0.12345, false, "<8.2f", "0.12    "},
    {0.12345, false, "x>8.2f", "xxxx0.12"},
    {10.0, false, ".3", "10.0"},
    {10.0, false, ".3g", "10"},
    {10.0, false, ".2", "1e+01"},
    {10.0, false, "#.3g", "10.0"},
    {1234567.891, false, ",", "1,234,567.891"},
    {1234567.891, false, "_.1f", "1_234_567.9"},
    {1234567.891, false, "015,.2f", "0,001,234,567.89"},
    {1234567.891, false, ".3", "1.23e+06"},
    {1234567.891, false, "n", "1.23457e+06"},
    {-2.5, false, "06.1f", "-002.5"},
    {-2.5, false, "=+8.2f", "-   2.50"},
    {-2.5, false, "^9", "  -2.5   "},
    {0.0, false, ".1", "0e+00"},
    {1e-05, false, "", "1e-05"},
    {1e-05, false, "#", "1.e-05"},
    {100.0, false, ".3", "1e+02"},
    {-0.0, false, ".1f", "-0.0"},
    {-0.0, false, "z.1f", "0.0"},
};

TEST(PythonFormat, IsWhatPythonMakesOfIt) {
  for (const Formatted& each : kFormatted) {
    EXPECT_EQ(python_format(each.value, each.integer, each.format), each.text) << each.value << " " << each.format;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(python_format(-infinity, false, "08.2F"), "-0000INF");
  EXPECT_EQ(python_format(std::numeric_limits<double>::quiet_NaN(), false, "+5.1%"), "+nan%");
}

TEST(PythonFormat, RefusesWhatPythonRefuses) {
  for (const char* format : {".2d", ".3", ",x", ",b", "s", "z", "y", "dd", ".", "5.", "_n", "99999d"}) {
    EXPECT_FALSE(python_format(3, true, format)) << format;
  }
  for (const char* format : {"d", "x", "s", "c", ",n", ".f", "+-f", "ff"}) {
    EXPECT_FALSE(python_format(0.5, false, format)) << format;
  }
}

}  // namespace
}  // namespace cohort::callbacks
