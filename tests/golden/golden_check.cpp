// Compares Cohort with what the real Keras computed:
// golden_check DIR... [--only layers,losses] [--device D] [--threads 1,2,16] [--verbose].
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "cohort/core/cpu_level.h"
#include "cohort/core/device.h"
#include "cohort/core/random.h"
#include "cohort/core/tensor_float_32.h"
#include "cohort/core/text.h"
#include "cohort/core/thread_pool.h"
#include "tests/golden/checks.h"
#include "tests/support/busy_caller.h"

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

struct Settings {
  std::vector<std::string> only;
  std::vector<int> threads;  // none: as many as the pool has, and no other caller
  bool verbose = false;
};

struct Tally {
  int passed = 0, failed = 0, skipped = 0;
};

void compute(const Group& group, Case& checked) {
  set_random_seed(1);
  try {
    group.check(checked);
    checked.check_complete();
  } catch (const std::exception& error) {
    checked.fail(std::string("threw: ") + error.what());
  }
}

// With each number of threads, while another caller has the pool compute: results must have the same bits.
void compute_with_threads(const Group& group, Case& checked, const std::vector<int>& threads) {
  const Case untouched = checked;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    Case again = untouched;
    Case& now = i == 0 ? checked : again;
    ThreadPool::instance().set_threads(threads[i]);
    test::BusyCaller busy;
    compute(group, now);
    checked.require(busy.stop(), "the other caller's bits change");
    if (i == 0) continue;
    for (const std::string& problem : again.problems()) checked.fail(problem);
    checked.expect_same_bits(again, "with " + std::to_string(threads[i]) + " threads");
  }
}

void run_case(const Group& group, const Hdf5File& file, const std::string& path, const std::string& name,
              const Settings& settings, Tally& tally) {
  try {
    if (group.check == nullptr) throw Skipped{std::string("the group ") + group.name + " is not supported yet"};
    Case checked(file, name, std::filesystem::path(path).parent_path());
    if (settings.threads.empty()) {
      compute(group, checked);
    } else {
      compute_with_threads(group, checked, settings.threads);
    }
    if (checked.problems().empty()) {
      ++tally.passed;
      if (settings.verbose)
        std::printf("passed   %s/%s (%.2g of the tolerance)\n", group.name, name.c_str(), checked.worst());
      return;
    }
    ++tally.failed;
    std::printf("FAILED   %s/%s\n", group.name, name.c_str());
    for (const std::string& problem : checked.problems()) std::printf("           %s\n", problem.c_str());
  } catch (const Skipped& skipped) {
    ++tally.skipped;
    if (settings.verbose) std::printf("skipped  %s/%s: %s\n", group.name, name.c_str(), skipped.reason.c_str());
  }
}

void run_group(const Group& group, const std::string& path, const Settings& settings, Tally& tally) {
  const Hdf5File file = Hdf5File::open(path);
  if (const auto schema = file.int_attribute("", "schema"); schema != 1) {
    throw invalid_argument("golden_check", "fixtures of schema 1 are expected", {{"file", path}, {"schema", schema}});
  }
  Tally here;
  const std::vector<std::string> cases = file.members("");
  if (static_cast<std::int64_t>(cases.size()) != file.int_attribute("", "cases")) {
    throw Error(ErrorCode::DataLoss, "golden_check", "a file must hold as many cases as it says", {{"file", path}});
  }
  for (const std::string& name : cases) run_case(group, file, path, name, settings, here);
  std::printf("%-13s %d passed, %d failed, %d skipped\n", group.name, here.passed, here.failed, here.skipped);
  tally.passed += here.passed;
  tally.failed += here.failed;
  tally.skipped += here.skipped;
}

// The number of files that were there.
int run_folder(const std::filesystem::path& folder, const Settings& settings, Tally& tally) {
  const auto& only = settings.only;
  int files = 0;
  for (const Group& group : kGroups) {
    if (!only.empty() && std::find(only.begin(), only.end(), group.name) == only.end()) continue;
    const std::filesystem::path path = folder / group.file;
    if (!std::filesystem::exists(path)) continue;
    ++files;
    run_group(group, path.string(), settings, tally);
  }
  return files;
}

int run(const std::vector<std::string>& folders, const Settings& settings) {
  for (const std::string& name : settings.only) {
    const bool known =
        std::any_of(std::begin(kGroups), std::end(kGroups), [&](const Group& g) { return g.name == name; });
    if (!known) throw invalid_argument("golden_check", "--only takes names of groups", {{"only", name}});
  }
  cpu_level();  // throws before the first case where COHORT_CPU names none
  Tally tally;
  int files = 0;
  for (const std::string& folder : folders) files += run_folder(folder, settings, tally);
  if (files == 0)
    throw not_found("golden_check", "folders with fixture files are expected", {{"folders", join(folders)}});
  std::printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
  return tally.failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cohort::golden

int main(int argc, char** argv) {
  CLI::App app("Compares Cohort with what the real Keras computed");
  std::vector<std::string> folders;
  std::string device = "CPU:0";
  cohort::golden::Settings settings;
  app.add_option("folders", folders, "folders with fixture files")->required();
  app.add_option("--only", settings.only, "groups to run: layers,losses,...")->delimiter(',');
  app.add_option("--device", device, "device to compute on")->capture_default_str();
  app.add_option("--threads", settings.threads,
                 "numbers of threads: each case has the same bits with all of them, beside another caller")
      ->delimiter(',');
  app.add_flag("--verbose", settings.verbose, "say what passed and what was skipped, and why");
  CLI11_PARSE(app, argc, argv);
  try {
    cohort::enable_tensor_float_32_execution(false);  // Keras computed in full float32
    cohort::set_default_device(device);
    if (settings.verbose) std::printf("kernels of the level %s\n", std::string(cohort::cpu_level()).c_str());
    return cohort::golden::run(folders, settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
