#include "programs/cohort/devices_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cohort/core/device_listing.h"
#include "cohort/model/text_table.h"

namespace cohort::programs {
namespace {

std::string memory_cell(std::size_t bytes) { return bytes == 0 ? "-" : memory_text(static_cast<double>(bytes)); }

std::string text_cell(const std::string& text) { return text.empty() ? "-" : text; }

std::vector<std::string> device_cells(const PhysicalDevice& device) {
  return {device.name,
          text_cell(device.model),
          text_cell(device.capability),
          device.processors == 0 ? "-" : std::to_string(device.processors),
          memory_cell(device.memory_total),
          memory_cell(device.memory_free)};
}

std::string device_table(const std::vector<PhysicalDevice>& devices) {
  constexpr auto kLeft = TextTable::Align::Left, kRight = TextTable::Align::Right;
  std::vector<TextTable::Column> columns = {{"Device", kLeft},      {"Model", kLeft},   {"Capability", kLeft},
                                            {"Processors", kRight}, {"Memory", kRight}, {"Free", kRight}};
  std::int64_t line = 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t longest = columns[i].header.size();
    for (const PhysicalDevice& device : devices) longest = std::max(longest, device_cells(device)[i].size());
    columns[i].width = static_cast<std::int64_t>(longest);
    line += columns[i].width + 3;
  }
  TextTable table(columns, line);
  for (const PhysicalDevice& device : devices) table.add_row(device_cells(device));
  return table.to_string();
}

std::string gpu_lines(const DeviceListing& listing) {
  std::string text;
  for (const PhysicalDevice& device : listing.devices) {
    if (!device.problem.empty()) text += device.name + " cannot be used: " + device.problem + "\n";
  }
  if (!listing.no_gpu.empty()) text += "No GPU: " + listing.no_gpu + "\n";
  if (!listing.driver_cuda.empty()) {
    text += "Driver " + text_cell(listing.driver) + ", which serves CUDA " + listing.driver_cuda + "\n";
  }
  if (!listing.runtime_cuda.empty()) text += "Kernels for CUDA " + listing.runtime_cuda + "\n";
  for (const DeviceLibrary& library : listing.libraries) {
    text +=
        library.name + " " + (library.problem.empty() ? library.version : "cannot be used: " + library.problem) + "\n";
  }
  return text;
}

nlohmann::ordered_json devices_json(const DeviceListing& listing) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array(), libraries = nlohmann::ordered_json::array();
  for (const PhysicalDevice& device : listing.devices) {
    devices.push_back({{"name", device.name},
                       {"type", device.device_type},
                       {"model", device.model},
                       {"capability", device.capability},
                       {"processors", device.processors},
                       {"memory_total", device.memory_total},
                       {"memory_free", device.memory_free},
                       {"problem", device.problem}});
  }
  for (const DeviceLibrary& library : listing.libraries) {
    libraries.push_back({{"name", library.name}, {"version", library.version}, {"problem", library.problem}});
  }
  return {{"devices", devices},
          {"driver", listing.driver},
          {"driver_cuda", listing.driver_cuda},
          {"runtime_cuda", listing.runtime_cuda},
          {"libraries", libraries},
          {"no_gpu", listing.no_gpu}};
}

void show_devices(bool as_json) {
  const DeviceListing listing = list_devices();
  if (as_json) {
    // Names of models and messages of the loader need not be UTF-8.
    std::cout << devices_json(listing).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  } else {
    std::cout << device_table(listing.devices) << gpu_lines(listing);
  }
  std::cout << std::flush;
}

}  // namespace

void add_devices_command(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("devices", "Lists what this machine has to compute on");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "as one JSON object, memory in bytes");
  command->footer(
      "CAPABILITY is a GPU's compute capability, and the level of the CPU that kernels are taken from, PROCESSORS are "
      "a\n"
      "GPU's multiprocessors and the threads that compute on the CPU. Where no GPU can be used it says why. Programs "
      "take\n"
      "GPU:0 where there is one; COHORT_DEVICE=cpu:0 in the environment, set_default_device and ch::device decide "
      "otherwise.");
  command->callback([as_json] { show_devices(*as_json); });
}

}  // namespace cohort::programs
