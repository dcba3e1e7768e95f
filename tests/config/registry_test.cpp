#include "cohort/config/registry.h"

#include <gtest/gtest.h>

#include "cohort/config/ref.h"

namespace cohort {
namespace {

class Shape2D {
 public:
  virtual ~Shape2D() = default;
  virtual int corners() const = 0;
  static Registry<Shape2D>& registry() {
    static Registry<Shape2D> registry("Shape2D");
    return registry;
  }
  static std::shared_ptr<Shape2D> from_name(std::string_view name) { return registry().make(name); }
};

class Polygon : public Shape2D {
 public:
  explicit Polygon(int corners) : corners_(corners) {}
  int corners() const override { return corners_; }

 private:
  int corners_;
};

struct Triangle : Ref<Polygon> {
  Triangle() : Ref<Polygon>(std::make_shared<Polygon>(3)) {}
};

[[maybe_unused]] const bool registered =
    Shape2D::registry().add("Square", [] { return std::make_shared<Polygon>(4); }, {"square", "quad"}) &&
    Shape2D::registry().add("mine>Hexagon", [] { return std::make_shared<Polygon>(6); });

TEST(Registry, MakesByNameAndAlias) {
  Registry<Shape2D>& registry = Shape2D::registry();
  EXPECT_EQ(registry.make("Square")->corners(), 4);
  EXPECT_EQ(registry.make("quad")->corners(), 4);
  EXPECT_EQ(registry.make("mine>Hexagon")->corners(), 6);
  EXPECT_NE(registry.make("Square"), registry.make("Square"));
  EXPECT_TRUE(registry.has("square"));
  EXPECT_FALSE(registry.has("circle"));
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"Square", "mine>Hexagon", "quad", "square"}));
}

TEST(Registry, AnUnknownNameListsTheKnownOnes) {
  try {
    Shape2D::registry().make("circle");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_STREQ(error.what(),
                 "Shape2D: a registered name is expected. Received: name='circle'. Known names: Square, mine>Hexagon, "
                 "quad, square.");
  }
}

TEST(Registry, ANameIsTakenOnce) {
  Registry<Shape2D> registry("Shape2D");
  const auto maker = [] { return std::make_shared<Polygon>(5); };
  registry.add("Pentagon", maker);
  try {
    registry.add("Other", maker, {"Pentagon"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::AlreadyExists);
  }
}

TEST(Ref, ConvertsFromStringsHandlesAndNothing) {
  const Ref<Shape2D> none, also_none = nullptr, by_name = "square", by_string = std::string("Square");
  EXPECT_FALSE(none);
  EXPECT_FALSE(also_none);
  EXPECT_EQ(by_name->corners(), 4);
  EXPECT_EQ(by_string->corners(), 4);
  EXPECT_THROW(Ref<Shape2D>("circle"), Error);
  const Ref<Shape2D> triangle = Triangle();
  EXPECT_EQ((*triangle).corners(), 3);
}

TEST(Ref, CopiesShareTheObject) {
  const Triangle triangle;
  const Ref<Shape2D> first = triangle, second = first;
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.get(), triangle.get());
  EXPECT_NE(first, Ref<Shape2D>(Triangle()));
}

TEST(Ref, AsAsksForTheRealClass) {
  const Ref<Shape2D> shape = "square";
  EXPECT_EQ(shape.as<Polygon>().get(), shape.get());
  class Circle : public Shape2D {
   public:
    int corners() const override { return 0; }
  };
  EXPECT_FALSE(shape.as<Circle>());
  EXPECT_EQ(make<Circle>()->corners(), 0);
  EXPECT_EQ(make<Polygon>(7)->corners(), 7);
}

}  // namespace
}  // namespace cohort
