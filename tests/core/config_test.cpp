#include "cohort/config/configurable.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// Lists what it sees; optionally gives every integer another value.
class Listing : public FieldVisitor {
 public:
  void field(const char* name, bool& value) override { add(name, value ? "true" : "false"); }
  void field(const char* name, std::int64_t& value) override {
    add(name, std::to_string(value));
    if (integer) value = *integer;
  }
  void field(const char* name, double& value) override { add(name, std::to_string(value)); }
  void field(const char* name, std::string& value) override { add(name, value); }
  void field(const char* name, DType& value) override { add(name, to_string(value)); }
  void field(const char* name, Shape& value) override { add(name, value.to_string()); }
  void field(const char* name, std::vector<std::int64_t>&) override { add(name, "integers"); }
  void field(const char* name, std::vector<double>&) override { add(name, "numbers"); }
  void field(const char* name, std::vector<std::string>&) override { add(name, "texts"); }
  void field(const char* name, std::optional<bool>&) override { add(name, "bool?"); }
  void field(const char* name, std::optional<std::int64_t>&) override { add(name, "integer?"); }
  void field(const char* name, std::optional<double>&) override { add(name, "number?"); }
  void field(const char* name, std::optional<std::string>&) override { add(name, "text?"); }
  void field(const char* name, std::optional<Shape>&) override { add(name, "shape?"); }
  void field(const char* name, std::optional<std::vector<std::int64_t>>&) override { add(name, "integers?"); }
  void field(const char* name, std::optional<std::vector<double>>&) override { add(name, "numbers?"); }
  void field(const char* name, RefField& value) override {
    add(name, value.get() ? value.get()->class_name() : "None");
  }
  void field(const char* name, RefListField& values) override {
    std::string all;
    for (std::size_t i = 0; i < values.size(); ++i) all += values.get(i) ? values.get(i)->class_name() : "-";
    add(name, all);
    values.clear();
    values.append();
    values.append();
    values.back().make("c");
  }
  void field(const char* name, double&, RefField&) override { add(name, "either"); }

  std::optional<std::int64_t> integer;
  std::string seen;

 private:
  void add(const std::string& name, const std::string& value) { seen += name + "=" + value + ";"; }
};

TEST(Config, FieldsAreVisitedInTheirOrder) {
  Options options;
  Listing listing;
  visit_options(options, listing);
  EXPECT_EQ(listing.seen, "units=3;use_bias=true;rate=0.500000;name=x;part=a;parts=b-;");
}

TEST(Config, AVisitorMayAssign) {
  Options options;
  Listing listing;
  listing.integer = 7;
  visit_options(options, listing);
  EXPECT_EQ(options.units, 7);
  ASSERT_EQ(options.parts.size(), 2u);
  EXPECT_FALSE(options.parts[0]);
  EXPECT_EQ(options.parts[1]->class_name(), "c");
}

TEST(Config, NarrowIntegersAreChecked) {
  Options options;
  Listing listing;
  listing.integer = std::int64_t{1} << 40;
  EXPECT_THROW(visit_options(options, listing), Error);
  EXPECT_EQ(options.units, 3);
}

TEST(Config, ListsOfTwentyFieldsAreTaken) {
  struct Wide {
    bool a = true, b = true, c = true, d = true, e = true, f = true, g = true, h = true, i = true, j = true;
    bool k = true, l = true, m = true, n = true, o = true, p = true, q = true, r = true, s = true, t = true;
  };
  Wide options;
  Listing visitor;
  COHORT_FOR_EACH(COHORT_FIELD_1, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  EXPECT_EQ(std::count(visitor.seen.begin(), visitor.seen.end(), ';'), 20);
}

}  // namespace
}  // namespace cohort
