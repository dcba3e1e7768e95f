#include "cohort/config/configurable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace cohort {
namespace {

class Part : public Configurable {
 public:
  explicit Part(std::string name = "Part") : name_(std::move(name)) {}
  std::string class_name() const override { return name_; }
  static std::shared_ptr<Part> from_name(std::string_view name) { return std::make_shared<Part>(std::string(name)); }

 private:
  std::string name_;
};

struct Options {
  int units = 3;
  bool use_bias = true;
  double rate = 0.5;
  std::string name = "x";
  Ref<Part> part = "a";
  std::vector<Ref<Part>> parts = {"b", nullptr};
};
COHORT_FIELDS(Options, units, use_bias, rate, name, part, parts)

// Lists what it sees.
class Listing : public FieldVisitor {
 public:
  std::string seen;

 protected:
  void write(const char* name, const ConfigValue& value) override {
    seen += std::string(name) + "=" + value.to_string() + ";";
  }
};

// Gives every field what it holds under its name.
class Assigning : public FieldVisitor {
 public:
  explicit Assigning(std::map<std::string, ConfigValue> values) : values_(std::move(values)) {}
  bool reads_config() const override { return true; }

 protected:
  std::optional<ConfigValue> read(const char* name) override {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string, ConfigValue> values_;
};

TEST(Config, FieldsAreVisitedInTheirOrder) {
  Options options;
  Listing listing;
  visit_options(options, listing);
  EXPECT_EQ(listing.seen, "units=3;use_bias=true;rate=0.5;name=\"x\";part=a;parts=[b,null];");
}

TEST(Config, AVisitorMayAssign) {
  Options options;
  Assigning assigning({{"units", std::int64_t{7}},
                       {"part", ConfigValue()},
                       {"parts", ConfigValue::List{ConfigValue(), std::string("c")}}});
  visit_options(options, assigning);
  EXPECT_EQ(options.units, 7);
  EXPECT_TRUE(options.use_bias) << "what is not mentioned keeps its value";
  EXPECT_FALSE(options.part);
  ASSERT_EQ(options.parts.size(), 2u);
  EXPECT_FALSE(options.parts[0]);
  EXPECT_EQ(options.parts[1]->class_name(), "c");
}

TEST(Config, NarrowIntegersAreChecked) {
  Options options;
  Assigning assigning({{"units", std::int64_t{1} << 40}});
  EXPECT_THROW(visit_options(options, assigning), Error);
  EXPECT_EQ(options.units, 3);
}

TEST(Config, ValuesAreShownAsJson) {
  const ConfigValue value(ConfigValue::List{ConfigValue(), true, std::int64_t{-3}, 2.0, 1e-7, std::string("a\"b\n"),
                                            ConfigValue::Dict{{"key", ConfigValue::List{}}}});
  EXPECT_EQ(value.to_string(), "[null,true,-3,2.0,1e-07,\"a\\\"b\\u000a\",{\"key\":[]}]");
  EXPECT_LT(ConfigValue(std::string(1000, 'x')).to_string().size(), 110u);
}

TEST(Config, ListsOfManyFieldsAreTaken) {
  struct Wide {
    bool a = true, b = true, c = true, d = true, e = true, f = true, g = true, h = true, i = true, j = true;
    bool k = true, l = true, m = true, n = true, o = true, p = true, q = true, r = true, s = true, t = true;
    bool u = true, v = true, w = true, x = true, y = true, z = true;
  };
  Wide options;
  Listing visitor;
  COHORT_FOR_EACH(COHORT_SHOW_FIELD, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
  EXPECT_EQ(std::count(visitor.seen.begin(), visitor.seen.end(), ';'), 26);
}

}  // namespace
}  // namespace cohort
