#include "benchmarks/data_jobs.h"

#include <cohort/cohort.h>
#include <cohort/core/thread_pool.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

namespace cohort::bench {
namespace {

constexpr const char* kWho = "cohort-bench";
constexpr std::int64_t kImages = 60'000, kFloats = 32, kColumns = 16;

using DataClock = std::chrono::steady_clock;

// The files of a folder by their names.
std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string numbered(char letter, std::int64_t number) {
  return letter + std::string(number < 10 ? "0" : "") + std::to_string(number);
}

// All rows of the arrays, in memory.
Dataset images_in_memory(const std::string& folder) {
  const Element all = datasets::npz(folder + "/images.npz", {"x", "y"}).batch(kImages).iterator().next();
  return datasets::from_tensor_slices(all[0].leaf(), all[1].leaf());
}

Dataset memory_shuffle(const std::string& folder) {
  return images_in_memory(folder).shuffle(kImages).batch(64).prefetch(kAutotune);
}

// Of one image or of a batch; bytes are mirrored faster than floats.
std::tuple<Tensor, Tensor> augmented(const Tensor& x, const Tensor& y, const Tensor& draws) {
  const Tensor mirrored = ops::where(draws < 0.5, ops::flip(x, {-1}), x);
  return {ops::cast(mirrored, DType::Float32) / 255.0, y};
}

Dataset memory_map(const std::string& folder) {
  const auto augment = [](const Tensor& x, const Tensor& y) { return augmented(x, y, ops::random_uniform({})); };
  return images_in_memory(folder)
      .shuffle(kImages)
      .map(augment, {.num_parallel_calls = kAutotune})
      .batch(64)
      .prefetch(kAutotune);
}

Dataset memory_map_of_batches(const std::string& folder) {
  const auto augment = [](const Tensor& x, const Tensor& y) {
    const Tensor rows = ops::reshape(ops::cast(y, DType::Float32), {-1, 1, 1});
    return augmented(x, y, ops::random_uniform_like(rows));
  };
  return images_in_memory(folder)
      .shuffle(kImages)
      .batch(64)
      .map(augment, {.num_parallel_calls = kAutotune})
      .prefetch(kAutotune);
}

Dataset npz(const std::string& folder) {
  return datasets::npz(folder + "/images.npz", {"x", "y"}).shuffle(kImages).batch(64).prefetch(kAutotune);
}

Dataset examples(const std::string& folder, const std::string& compression) {
  datasets::ExampleFeatures features;
  for (std::int64_t i = 0; i < kFloats; ++i) {
    features.emplace_back(numbered('f', i), datasets::FixedLenFeature({}, DType::Float32));
  }
  features.emplace_back("label", datasets::FixedLenFeature({}, DType::Int64));
  const auto join = [](const Element& element) {
    Tensors columns = element.flatten();
    const Tensor label = columns.back();
    columns.pop_back();
    return Element::tuple({ops::stack(columns, 1), label});
  };
  return datasets::tf_records(files_in(folder), {.compression = compression})
      .batch(256)
      .apply(datasets::parse_example(features))
      .map(join, {.num_parallel_calls = kAutotune})
      .prefetch(kAutotune);
}

Dataset table(const std::string& folder) {
  std::vector<datasets::CsvColumn> columns;
  for (std::int64_t i = 0; i < kColumns; ++i) columns.emplace_back(numbered('c', i));
  return datasets::csv(folder + "/table.csv",
                       {.tensors = {{.columns = columns}, {.columns = {"label"}, .dtype = DType::Int32}}})
      .batch(256)
      .prefetch(kAutotune);
}

// Lines are split where they are read, as rows of two columns.
Dataset text(const std::string& folder) {
  return datasets::csv(files_in(folder + "/text"),
                       {.tensors = {{.columns = {1}, .dtype = DType::String}, {.columns = {0}, .dtype = DType::Int32}},
                        .header = false,
                        .delimiter = '\t',
                        .use_quotes = false})
      .batch(256)
      .prefetch(kAutotune);
}

// The files of all classes in the order of their folders, each with the folder's number.
Dataset images(const std::string& folder, bool accurate, bool dct_scaling) {
  std::vector<std::string> files;
  datasets::ImageLabels labels;
  for (const std::string& one : files_in(folder + "/jpeg")) {
    const std::vector<std::string> inside = files_in(one);
    files.insert(files.end(), inside.begin(), inside.end());
    labels.labels.insert(labels.labels.end(), inside.size(), std::stoll(one.substr(one.rfind('_') + 1)));
  }
  return datasets::image_files(files, labels,
                               {.image_size = {224, 224}, .accurate = accurate, .dct_scaling = dct_scaling});
}

Dataset jpeg(const std::string& folder, bool accurate, bool dct_scaling) {
  return images(folder, accurate, dct_scaling).batch(32).prefetch(kAutotune);
}

// A folder for files of this process, which go with it.
class FolderOfProcess {
 public:
  explicit FolderOfProcess(std::string pattern) : path_(std::move(pattern)) {
    if (!::mkdtemp(path_.data())) {
      throw invalid_argument(kWho, "a folder that can be written to is expected", {{"folder", path_}});
    }
  }
  ~FolderOfProcess() {
    std::error_code problem;
    std::filesystem::remove_all(path_, problem);
  }
  FolderOfProcess(const FolderOfProcess&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The first epoch, which is checked, writes the files; the others find them.
std::string cache_of_process(const std::string& folder, const std::string& name) {
  static const FolderOfProcess caches(folder + "/cache-XXXXXX");
  return caches.path() + "/" + name;
}

// Images are kept, and copied into batches; kept batches would be given as they lie in the mapped file, unread.
Dataset cached_images(const std::string& folder) {
  return images(folder, true, false).cache(cache_of_process(folder, "images")).batch(32).prefetch(kAutotune);
}

using MakeData = std::function<Dataset(const std::string& folder)>;

// A job and the chains that do it, by the names that the peers have for them.
struct DataJob {
  std::string name;
  std::vector<std::pair<std::string, MakeData>> forms;
};

const std::vector<DataJob>& data_jobs() {
  static const std::vector<DataJob> jobs{
      {"memory_shuffle", {{"plain", memory_shuffle}}},
      {"memory_map", {{"element", memory_map}, {"plain", memory_map_of_batches}}},
      {"tfrecord", {{"plain", [](const std::string& folder) { return examples(folder + "/tfrecord", ""); }}}},
      {"tfrecord_gz", {{"plain", [](const std::string& folder) { return examples(folder + "/tfrecord_gz", "GZIP"); }}}},
      {"csv", {{"plain", table}}},
      {"jpeg",
       {{"element", [](const std::string& folder) { return jpeg(folder, true, false); }},
        {"fast_dct", [](const std::string& folder) { return jpeg(folder, false, false); }},
        {"dct_scaling", [](const std::string& folder) { return jpeg(folder, true, true); }}}},
      {"cache_file", {{"element", cached_images}}},
      {"npz", {{"plain", npz}}},
      {"text", {{"plain", text}}}};
  return jobs;
}

std::int64_t sum_of_labels(const Tensor& labels) {
  const auto add = [&]<class T>(const T* values) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < labels.num_elements(); ++i) sum += values[i];
    return sum;
  };
  return labels.dtype() == DType::Int64 ? add(static_cast<const std::int64_t*>(labels.raw()))
                                        : add(static_cast<const std::int32_t*>(labels.raw()));
}

double sum_of_features(const Tensor& features) {
  const auto add = [&](const auto* values, const auto& of) {
    double sum = 0;
    for (std::int64_t i = 0; i < features.num_elements(); ++i) sum += static_cast<double>(of(values[i]));
    return sum;
  };
  const auto itself = [](auto value) { return value; };
  switch (features.dtype()) {
    case DType::String:
      return add(static_cast<const std::string*>(features.raw()), [](const std::string& text) { return text.size(); });
    case DType::UInt8:
      return add(static_cast<const std::uint8_t*>(features.raw()), itself);
    default:
      return add(static_cast<const float*>(features.raw()), itself);
  }
}

// What a folder says about a job.
struct Expected {
  std::int64_t elements, batch, batches, label_sum;
  double bytes, feature_mean;
};

Expected expected_of(const std::string& name, const std::string& folder) {
  std::ifstream file(folder + "/expect.json");
  if (!file) {
    throw invalid_argument(kWho, "a folder with the files of the jobs is expected", {{"folder", folder}},
                           "Make them with the peers' script and --make-only.");
  }
  const nlohmann::json job = nlohmann::json::parse(file).at("jobs").at(name);
  return {job.at("elements"),  job.at("batch"), job.at("batches"),
          job.at("label_sum"), job.at("bytes"), job.at("feature_mean")};
}

// The whole of an epoch, looked at.
//   near: how far the mean may be from the one expected.
void check_first_epoch(const Dataset& data, const Expected& expected, double near) {
  std::int64_t elements = 0, batches = 0, full = 0, labels = 0, values = 0;
  double features = 0;
  const auto iterator = data.make_iterator();
  for (Tensors batch; iterator->next(batch); ++batches) {
    const std::int64_t rows = batch.at(1).num_elements();
    elements += rows;
    full += rows == expected.batch;
    labels += sum_of_labels(batch[1]);
    features += sum_of_features(batch[0]);
    values += batch[0].num_elements();
  }
  const double mean = features / static_cast<double>(values);
  if (elements == expected.elements && batches == expected.batches && full == elements / expected.batch &&
      labels == expected.label_sum && std::abs(mean - expected.feature_mean) < near) {
    return;
  }
  throw internal_error(kWho, "the elements that expect.json describes are expected",
                       {{"elements", elements},
                        {"batches", batches},
                        {"full batches", full},
                        {"label_sum", labels},
                        {"feature_mean", mean}});
}

double timed_epoch(const Dataset& data, const Expected& expected) {
  const DataClock::time_point start = DataClock::now();
  const auto iterator = data.make_iterator();
  std::int64_t labels = 0;
  Tensors batch;
  // The peers' epochs, too, end with the last batch and not with the end of the data.
  for (std::int64_t i = 0; i < expected.batches && iterator->next(batch); ++i) labels += sum_of_labels(batch[1]);
  const double seconds = std::chrono::duration<double>(DataClock::now() - start).count();
  if (labels != expected.label_sum) throw internal_error(kWho, "the same labels are expected", {{"label_sum", labels}});
  return seconds;
}

// Seconds that the machine's cores have worked for other processes.
double work_of_others() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double busy = 0;
  for (int i = 0; i < 8; ++i) {
    double ticks = 0;
    file >> ticks;
    constexpr int kIdle = 3, kWaiting = 4;
    if (i != kIdle && i != kWaiting) busy += ticks;
  }
  tms own{};
  ::times(&own);
  return (busy - static_cast<double>(own.tms_utime + own.tms_stime)) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

void run_data_job(const std::string& name, const std::string& folder, std::int64_t runs) {
  const auto& jobs = data_jobs();
  const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const DataJob& each) { return each.name == name; });
  if (job == jobs.end()) throw invalid_argument(kWho, "a job of data is expected", {{"data", name}});
  const Expected expected = expected_of(name, folder);
  set_random_seed(0);
  for (const auto& [form, make] : job->forms) {
    // JPEG loses something, and the mean is that of the images before.
    const bool of_jpeg = name == "jpeg" || name == "cache_file";
    check_first_epoch(make(folder), expected, form == "fast_dct" ? 1.5 : of_jpeg ? 0.5 : 1e-6);
  }
  double best = 1e9;
  std::string best_form, all_forms;
  const double others = work_of_others();
  const DataClock::time_point start = DataClock::now();
  for (const auto& [form, make] : job->forms) {
    double seconds = 1e9;
    for (std::int64_t run = 0; run < runs; ++run) {
      // Described anew: what a stage has read stays with it, and reading is inside the clock.
      const Dataset data = make(folder);
      seconds = std::min(seconds, timed_epoch(data, expected));
    }
    const auto rate = std::llround(static_cast<double>(expected.elements) / seconds);
    all_forms += (all_forms.empty() ? "\"" : ", \"") + form + "\": " + std::to_string(rate);
    if (seconds < best) best_form = form;
    best = std::min(best, seconds);
  }
  const double wall = std::chrono::duration<double>(DataClock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"job\": \"%s\", \"peer\": \"cohort\", \"form\": \"%s\", \"elements_per_s\": %.0f, \"mb_per_s\": %.1f, "
      "\"epoch_s\": %.4f, \"threads\": %d, \"peak_rss_mib\": %ld, \"others\": %.2f, \"forms\": {%s}}\n",
      name.c_str(), best_form.c_str(), static_cast<double>(expected.elements) / best, expected.bytes / best / 1e6, best,
      ThreadPool::instance().threads(), usage.ru_maxrss / 1024, std::max(0.0, (work_of_others() - others) / wall),
      all_forms.c_str());
}

std::vector<std::string> data_job_names() {
  std::vector<std::string> names;
  for (const DataJob& job : data_jobs()) names.emplace_back(job.name);
  return names;
}

}  // namespace cohort::bench
