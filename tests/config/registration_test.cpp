#include "cohort/config/registration.h"

#include <gtest/gtest.h>

#include "cohort/config/configurable.h"

namespace cohort {
namespace {

class Vehicle : public Configurable {
 public:
  static constexpr const char* kModule = "keras.vehicles";
  static Registry<Vehicle>& registry() {
    static Registry<Vehicle> registry("Vehicle");
    return registry;
  }
  static std::shared_ptr<Vehicle> from_name(std::string_view name) { return registry().make(name); }
};

class BicycleVehicle : public Vehicle {};
class Sledge : public Vehicle {};
class Cart : public Vehicle {};
class Wagon : public Vehicle {
 public:
  explicit Wagon(int wheels) : wheels_(wheels) {}
  int wheels_;
};
class NamesItselfInItsConstructor : public Vehicle {
 public:
  NamesItselfInItsConstructor() : seen(class_name()) {}
  const std::string seen;
};

COHORT_REGISTER(Vehicle, BicycleVehicle, "Bicycle", "bicycle", "bike");
COHORT_REGISTER(Vehicle, Sledge, "mine>Sledge");
COHORT_REGISTER(Vehicle, Wagon, "Wagon");
COHORT_REGISTER(Vehicle, NamesItselfInItsConstructor, "Early");

TEST(Registration, GivesAClassItsNamesAndModule) {
  for (const char* name : {"Bicycle", "bicycle", "bike"}) {
    const Ref<Vehicle> made(name);
    EXPECT_EQ(made->class_name(), "Bicycle");
    EXPECT_EQ(made->module_name(), "keras.vehicles");
  }
}

TEST(Registration, AUsersClassHasAPackageAndNoModule) {
  EXPECT_EQ(Ref<Vehicle>("mine>Sledge")->class_name(), "mine>Sledge");
  EXPECT_EQ(make<Sledge>()->module_name(), "");
}

TEST(Registration, AClassThatIsNotRegisteredHasItsOwnName) {
  EXPECT_EQ(Cart().class_name(), "Cart");
  EXPECT_EQ(Cart().module_name(), "");
}

TEST(Registration, TheNameIsKnownInAConstructor) { EXPECT_EQ(NamesItselfInItsConstructor().seen, "Early"); }

TEST(Registration, AClassThatNeedsArgumentsIsNotMadeByItsName) {
  EXPECT_EQ(Wagon(4).class_name(), "Wagon");
  EXPECT_THROW(Ref<Vehicle>("Wagon"), Error);
}

}  // namespace
}  // namespace cohort
