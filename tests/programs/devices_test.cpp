#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cohort/core/cpu_level.h"
#include "cohort/core/device_listing.h"
#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::StartedCommand;
using testing::HasSubstr;

std::string devices_output(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.begin(), "devices");
  StartedCommand command(arguments, folder.path());
  EXPECT_EQ(command.wait(std::chrono::seconds(60)), 0) << command.errors();
  EXPECT_EQ(command.errors(), "");
  return command.output();
}

TEST(DevicesCommand, ShowsATable) {
  const std::string text = devices_output({});
  EXPECT_THAT(text, HasSubstr("│ CPU:0 "));
  EXPECT_THAT(text, HasSubstr(" " + std::string(cpu_level()) + " "));
  if (list_physical_devices("GPU").empty()) {
    EXPECT_THAT(text, HasSubstr("\nNo GPU: "));
  } else {
    EXPECT_THAT(text, HasSubstr("│ GPU:0 "));
    EXPECT_THAT(text, HasSubstr("\nDriver "));
  }
}

TEST(DevicesCommand, WritesTheSameAsJson) {
  const auto json = nlohmann::json::parse(devices_output({"--json"}));
  const DeviceListing listing = list_devices();
  ASSERT_EQ(json.at("devices").size(), listing.devices.size());
  for (std::size_t i = 0; i < listing.devices.size(); ++i) {
    const nlohmann::json& device = json.at("devices")[i];
    EXPECT_EQ(device.at("name"), listing.devices[i].name);
    EXPECT_EQ(device.at("model"), listing.devices[i].model);
    EXPECT_EQ(device.at("capability"), listing.devices[i].capability);
    EXPECT_EQ(device.at("memory_total"), listing.devices[i].memory_total);
    EXPECT_GT(device.at("memory_free").get<std::size_t>(), 0u);
  }
  EXPECT_EQ(json.at("no_gpu"), listing.no_gpu);
  EXPECT_EQ(json.at("driver_cuda"), listing.driver_cuda);
  ASSERT_EQ(json.at("libraries").size(), listing.libraries.size());
  for (std::size_t i = 0; i < listing.libraries.size(); ++i) {
    EXPECT_EQ(json.at("libraries")[i].at("version"), listing.libraries[i].version);
    EXPECT_EQ(json.at("libraries")[i].at("problem").get<std::string>().empty(), listing.libraries[i].problem.empty());
  }
}

}  // namespace
}  // namespace cohort
