// What saving a large model costs: cohort-saving-bench prints one JSON line with the time of .weights.h5, .keras and
// .h5 files beside a plain write and sync of the same bytes, rounds in turn, medians.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>

#include "cohort/layers/core/dense.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/load_model.h"

#include "benchmarks/command_line.h"

namespace ch = cohort;

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void write_plainly(const std::string& path, const char* bytes, std::size_t count) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw std::runtime_error("saving_bench: no file can be made at " + path);
  for (std::size_t done = 0; done < count;) {
    const ssize_t written = ::write(file, bytes + done, std::min(count - done, std::size_t{8} << 20));
    if (written <= 0) throw std::runtime_error("saving_bench: the disk is full");
    done += static_cast<std::size_t>(written);
  }
  if (::fsync(file) != 0) throw std::runtime_error("saving_bench: the disk cannot sync");
  ::close(file);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const std::string& folder, double gigabytes, int rounds) {
  constexpr std::int64_t kWide = 8192;
  const auto rows = static_cast<std::int64_t>(gigabytes * 1e9 / (4 * kWide));
  ch::Sequential model({ch::layers::Dense(kWide, {.use_bias = false, .kernel_initializer = "ones"})});
  model.build(ch::Shape{ch::kUnknown, rows});
  const ch::Tensor bytes = ch::read_now(model.weights()[0]);
  const auto timed = [&](const char* name, const std::function<void(const std::string&)>& write) {
    const std::string path = folder + "/" + name;
    const double seconds = seconds_of([&] { write(path); });
    std::filesystem::remove(path);
    return seconds;
  };
  std::vector<double> plain, weights, archive, legacy;
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(timed("plain", [&](const std::string& path) {
      write_plainly(path, static_cast<const char*>(bytes.raw()), bytes.bytes());
    }));
    weights.push_back(timed("model.weights.h5", [&](const std::string& path) { model.save_weights(path); }));
    archive.push_back(timed("model.keras", [&](const std::string& path) { model.save(path); }));
    legacy.push_back(timed("model.h5", [&](const std::string& path) { model.save(path); }));
  }
  const double size = static_cast<double>(bytes.bytes()) / 1e9;
  std::printf(
      "{\"gb\": %.3f, \"rounds\": %d, \"plain_gb_per_s\": %.3f, \"weights_h5_gb_per_s\": %.3f, \"keras_gb_per_s\": "
      "%.3f, "
      "\"h5_gb_per_s\": %.3f, \"weights_h5_ratio\": %.3f, \"keras_ratio\": %.3f, \"h5_ratio\": %.3f}\n",
      size, rounds, size / median(plain), size / median(weights), size / median(archive), size / median(legacy),
      median(plain) / median(weights), median(plain) / median(archive), median(plain) / median(legacy));
}

}  // namespace

int main(int argc, char** argv) {
  cohort::bench::CommandLine command_line("Measures what saving a model costs beside a plain write of its bytes");
  std::string folder = ".";
  double gigabytes = 1.0;
  int rounds = 3;
  command_line.add_folder("--folder", folder, "where to write; files there are removed again");
  command_line.add("--gigabytes", gigabytes, "size of the weights", cohort::bench::kPositive);
  command_line.add("--rounds", rounds, "rounds, of which the median counts", cohort::bench::kPositive);
  if (const std::optional<int> ended = command_line.parse(argc, argv)) return *ended;
  try {
    run(folder, gigabytes, rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
