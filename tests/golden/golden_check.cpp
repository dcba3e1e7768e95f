// Compares Cohort with what the real Keras computed: golden_check DIR [--only layers,losses] [--device D] [--verbose].
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "cohort/core/device.h"
#include "cohort/core/random.h"
#include "tests/golden/checks.h"

namespace cohort::golden {
namespace {

struct Group {
  const char* name;
  const char* file;
  void (*check)(Case&);  // nullptr: not supported yet
};

constexpr Group kGroups[] = {
    {"layers", "layers.h5", check_layer},
    {"losses", "losses.h5", check_loss},
    {"metrics", "metrics.h5", check_metric},
    {"optimizers", "optimizers.h5", check_optimizer},
    {"schedules", "schedules.h5", check_schedule},
    {"regularizers", "regularizers.h5", check_regularizer},
    {"init", "init.h5", check_initializer},
    {"training", "training.h5", check_training},
    {"callbacks", "callbacks.h5", check_callback},
    {"saved", "saved/expected.h5", check_saved},
    {"tensorboard", "tensorboard/models.h5", check_tensorboard},
};

struct Tally {
  int passed = 0, failed = 0, skipped = 0;
  bool verbose = false;
};

void run_case(const Group& group, const Hdf5File& file, const std::string& path, const std::string& name,
              Tally& tally) {
  try {
    if (group.check == nullptr) throw Skipped{std::string("the group ") + group.name + " is not supported yet"};
    Case checked(file, name, std::filesystem::path(path).parent_path());
    set_random_seed(1);
    try {
      group.check(checked);
      checked.check_complete();
    } catch (const std::exception& error) {
      checked.fail(std::string("threw: ") + error.what());
    }
    if (checked.problems().empty()) {
      ++tally.passed;
      if (tally.verbose)
        std::printf("passed   %s/%s (%.2g of the tolerance)\n", group.name, name.c_str(), checked.worst());
      return;
    }
    ++tally.failed;
    std::printf("FAILED   %s/%s\n", group.name, name.c_str());
    for (const std::string& problem : checked.problems()) std::printf("           %s\n", problem.c_str());
  } catch (const Skipped& skipped) {
    ++tally.skipped;
    if (tally.verbose) std::printf("skipped  %s/%s: %s\n", group.name, name.c_str(), skipped.reason.c_str());
  }
}

void run_group(const Group& group, const std::string& path, Tally& tally) {
  const Hdf5File file = Hdf5File::open(path);
  if (const auto schema = file.int_attribute("", "schema"); schema != 1) {
    throw invalid_argument("golden_check", "fixtures of schema 1 are expected", {{"file", path}, {"schema", schema}});
  }
  Tally here{.verbose = tally.verbose};
  const std::vector<std::string> cases = file.members("");
  if (static_cast<std::int64_t>(cases.size()) != file.int_attribute("", "cases")) {
    throw Error(ErrorCode::DataLoss, "golden_check", "a file must hold as many cases as it says", {{"file", path}});
  }
  for (const std::string& name : cases) run_case(group, file, path, name, here);
  std::printf("%-13s %d passed, %d failed, %d skipped\n", group.name, here.passed, here.failed, here.skipped);
  tally.passed += here.passed;
  tally.failed += here.failed;
  tally.skipped += here.skipped;
}

int run(const std::string& folder, const std::vector<std::string>& only, bool verbose) {
  Tally tally{.verbose = verbose};
  int files = 0;
  for (const std::string& name : only) {
    const bool known =
        std::any_of(std::begin(kGroups), std::end(kGroups), [&](const Group& g) { return g.name == name; });
    if (!known) throw invalid_argument("golden_check", "--only takes names of groups", {{"only", name}});
  }
  for (const Group& group : kGroups) {
    if (!only.empty() && std::find(only.begin(), only.end(), group.name) == only.end()) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / group.file;
    if (!std::filesystem::exists(path)) continue;
    ++files;
    run_group(group, path.string(), tally);
  }
  if (files == 0) throw not_found("golden_check", "a folder with fixture files is expected", {{"folder", folder}});
  std::printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
  return tally.failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cohort::golden

int main(int argc, char** argv) {
  CLI::App app("Compares Cohort with what the real Keras computed");
  std::string folder, device;
  std::vector<std::string> only;
  bool verbose = false;
  app.add_option("folder", folder, "folder with fixture files")->required();
  app.add_option("--only", only, "groups to run: layers,losses,...")->delimiter(',');
  app.add_option("--device", device, "device to compute on");
  app.add_flag("--verbose", verbose, "say what passed and what was skipped, and why");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!device.empty()) cohort::set_default_device(device);
    return cohort::golden::run(folder, only, verbose);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
