#include "cohort/kernels/cuda/product_choice.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "cohort/core/error.h"
#include "cohort/core/op_determinism.h"
#include "cohort/cuda/compiled_program.h"
#include "cohort/cuda/cublas_lt.h"
#include "cohort/cuda/kept_file.h"
#include "cohort/kernels/cuda/pieces.h"
#include "cohort/kernels/cuda/stopwatch.h"
#include "cohort/kernels/cuda/trial_numbers.h"

namespace cohort::kernels::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// Multiplications and additions from which a better algorithm is worth looking for.
constexpr double kLeastWork = 1e9;
// From here on a product alone brings a GPU to the limit of its power.
constexpr double kHeavyWork = 1e11;
// Algorithms that are tried for a product: if there is one way to do it, or for each of several; for a heavy one.
constexpr int kTriedAlone = 8, kTriedOfEach = 6, kTriedIfHeavy = 12;
// What looking may take: for one product, after which the best so far is taken, and for all of a process, which may
// meet new shapes all the time.
constexpr std::chrono::milliseconds kMostOfProduct{30}, kMostOfHeavy{60}, kMostOfProcess{2000};
constexpr char kEnding[] = ".choice";

// A way by its number, and the algorithm to take for it. Kept on disk as it lies in memory.
struct Choice {
  std::uint64_t way;
  cublasLtMatmulAlgo_t algorithm;
};

double work_of(const ProductShape& s) {
  return 2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) *
         static_cast<double>(s.products());
}

std::string key_of(const std::vector<LibraryProduct>& ways, const cohort::cuda::CudaDevice& device) {
  std::string key = "cublasLt " + std::to_string(cohort::cuda::cublas_lt().version()) + " on " + device.model();
  for (const LibraryProduct& way : ways) key += "\n" + way.key();
  return key;
}

// What was found before, by this process or another one. Thread-safe.
class KnownChoices {
 public:
  static KnownChoices& instance() {
    static auto* choices = new KnownChoices;
    return *choices;
  }

  std::optional<Choice> find(const std::string& key) {
    {
      std::lock_guard lock(mutex_);
      if (const auto found = choices_.find(key); found != choices_.end()) return found->second;
    }
    const std::string folder = this->folder();
    const std::string bytes = folder.empty() ? folder : cohort::cuda::read_kept(folder, key, kEnding);
    Choice choice;
    if (bytes.size() != sizeof choice) return std::nullopt;
    std::memcpy(&choice, bytes.data(), sizeof choice);
    std::lock_guard lock(mutex_);
    choices_[key] = choice;
    return choice;
  }

  void add(const std::string& key, const Choice& choice) {
    {
      std::lock_guard lock(mutex_);
      choices_[key] = choice;
    }
    const std::string folder = this->folder(), bytes(reinterpret_cast<const char*>(&choice), sizeof choice);
    if (!folder.empty()) cohort::cuda::write_kept(folder, key, kEnding, bytes);
  }

 private:
  static std::string folder() {
    const std::string folder = cohort::cuda::cache_folder();
    return folder.empty() ? folder : folder + "/products";
  }

  std::mutex mutex_;
  std::map<std::string, Choice> choices_;
};

// Memory for the matrices of a product, full of numbers: zeros take less power, with which the best choice differs.
class TrialMemory {
 public:
  TrialMemory(const ProductShape& shape, cohort::cuda::CudaDevice& device) : device_(device) {
    using Axis = ProductShape::BatchAxis;
    const auto bytes = [&](std::int64_t matrix, std::int64_t Axis::*stride, DType dtype) {
      for (int i = 0; i < shape.batch_rank; ++i) matrix += (shape.batch[i].size - 1) * (shape.batch[i].*stride);
      return static_cast<std::size_t>(matrix) * size_of(dtype);
    };
    Pieces pieces;
    const std::size_t a = pieces.add(bytes(shape.m * shape.k, &Axis::a_stride, shape.operands));
    const std::size_t b = pieces.add(bytes(shape.k * shape.n, &Axis::b_stride, shape.operands));
    const std::size_t vector = pieces.add(static_cast<std::size_t>(shape.n) * sizeof(double));
    const std::size_t mask = pieces.add(static_cast<std::size_t>(shape.products() * shape.m * shape.n / 8));
    const std::size_t c = pieces.add(bytes(shape.m * shape.n, &Axis::c_stride, shape.result));
    bytes_ = pieces.bytes();
    memory_ = static_cast<char*>(device.allocate(bytes_));
    pointers_ = {memory_ + a, memory_ + b, memory_ + c, memory_ + vector, memory_ + mask};
    enqueue_trial_numbers(shape.operands, memory_, c, device, device.stream(DeviceStream::Compute));
  }
  ~TrialMemory() { device_.deallocate(memory_, bytes_); }
  TrialMemory(const TrialMemory&) = delete;

  const ProductMemory& pointers() const { return pointers_; }

 private:
  cohort::cuda::CudaDevice& device_;
  std::size_t bytes_ = 0;
  char* memory_ = nullptr;
  ProductMemory pointers_;
};

// An algorithm of a way, and the shortest time it has taken.
struct Trial {
  Choice choice;
  LibraryProduct product;
  float milliseconds = std::numeric_limits<float>::max();
};

std::vector<Trial> trials_of(const std::vector<LibraryProduct>& ways) {
  const int light = ways.size() == 1 ? kTriedAlone : kTriedOfEach;
  const int most = work_of(ways.at(0).shape()) >= kHeavyWork ? kTriedIfHeavy : light;
  std::vector<std::vector<cublasLtMatmulAlgo_t>> algorithms;
  for (const LibraryProduct& way : ways) algorithms.push_back(way.algorithms(most));
  // By turns: there may not be time for all of them.
  std::vector<Trial> trials;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(most); ++rank) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (rank >= algorithms[i].size()) continue;
      trials.push_back({{i, algorithms[i][rank]}, ways[i]});
      trials.back().product.take(algorithms[i][rank]);
    }
  }
  return trials;
}

// Takes the times of trials.
class TrialTimes {
 public:
  TrialTimes(std::vector<Trial>& trials, const ProductMemory& memory, const ProductRest& rest, cudaStream_t stream)
      : trials_(trials), memory_(memory), rest_(rest), stream_(stream), watch_(stream) {}

  // Each once, then the good ones again, for the first time of a kernel says little.
  void take() {
    const bool heavy = work_of(trials_[0].product.shape()) >= kHeavyWork;
    const Clock::time_point end = Clock::now() + (heavy ? kMostOfHeavy : kMostOfProduct);
    bool any = false;
    for (Trial& trial : trials_) {
      if (any && Clock::now() > end) break;
      take(trial, 1);  // loads it
      trial.milliseconds = take(trial, 1);
      any = any || trial.milliseconds < kNever;
    }
    std::stable_sort(trials_.begin(), trials_.end(),
                     [](const Trial& a, const Trial& b) { return a.milliseconds < b.milliseconds; });
    if (!any) return;
    if (heavy) {
      take_turns();
    } else {
      take_again(end);
    }
  }

 private:
  static constexpr float kNever = std::numeric_limits<float>::max();

  // They are in order by then.
  float best() const { return trials_[0].milliseconds; }
  // How many of them are within this factor of the best.
  std::size_t good_ones(float factor) const {
    const float most = factor * best();
    return static_cast<std::size_t>(
        std::count_if(trials_.begin(), trials_.end(), [&](const Trial& trial) { return trial.milliseconds <= most; }));
  }

  void take_again(Clock::time_point end) {
    constexpr int kRounds = 2, kRepeats = 8;      // of short ones
    constexpr float kGood = 1.2f, kShort = 0.1f;  // times the best, milliseconds
    const std::size_t good = good_ones(kGood);
    const int repeats = best() < kShort ? kRepeats : 1;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < good && Clock::now() < end; ++i) {
        trials_[i].milliseconds = std::min(trials_[i].milliseconds, take(trials_[i], repeats));
      }
    }
  }

  // Heavy ones by turns of some milliseconds: in training they run when the clock has come down, and one that takes
  // less power is then the faster. What they took before, with a high clock, does not count; nor does the shortest of
  // their turns, in which the clock may have been high for once.
  void take_turns() {
    constexpr int kRounds = 5, kTurnsBefore = 5;
    constexpr std::size_t kMost = 6;
    constexpr float kGood = 1.1f, kTurn = 2.0f;  // times the best, milliseconds
    const std::size_t good = std::min(good_ones(kGood), kMost);
    if (good < 2) return;
    const int repeats = std::max(1, static_cast<int>(kTurn / best()));
    take(trials_[0], kTurnsBefore * repeats);
    std::vector<std::array<float, kRounds>> turns(good);
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < good; ++i) turns[i][round] = take(trials_[i], repeats);
    }
    for (Trial& trial : trials_) trial.milliseconds = kNever;
    for (std::size_t i = 0; i < good; ++i) {
      std::nth_element(turns[i].begin(), turns[i].begin() + kRounds / 2, turns[i].end());
      trials_[i].milliseconds = turns[i][kRounds / 2];
    }
  }

  // Milliseconds of one of several runs; kNever if the library does not do it.
  float take(const Trial& trial, int repeats) {
    bool done = true;
    const float all = watch_.time([&] {
      for (int i = 0; i < repeats && done; ++i) {
        done = trial.product.try_run(memory_, stream_);
        if (done) rest_(trial.product, memory_, stream_);
      }
    });
    return done ? all / static_cast<float>(repeats) : kNever;
  }

  std::vector<Trial>& trials_;
  const ProductMemory& memory_;
  const ProductRest& rest_;
  cudaStream_t stream_;
  Stopwatch watch_;
};

// The best by trial; nothing where that cannot be done.
std::optional<Choice> try_out(const std::vector<LibraryProduct>& ways, cohort::cuda::CudaDevice& device,
                              const ProductRest& rest) {
  static std::atomic<Clock::rep> spent{0};
  if (Clock::duration(spent.load()) > kMostOfProcess) return std::nullopt;
  // Nobody else's work is timed, too.
  const auto held = device.hold();
  if (device.is_recording()) return std::nullopt;
  std::vector<Trial> trials = trials_of(ways);
  if (trials.empty()) return std::nullopt;
  const Clock::time_point begin = Clock::now();
  if (trials.size() > 1) {
    try {
      const TrialMemory memory(ways[0].shape(), device);
      TrialTimes(trials, memory.pointers(), rest, device.stream(DeviceStream::Compute)).take();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::ResourceExhausted) throw;
      return std::nullopt;
    }
  }
  spent += (Clock::now() - begin).count();
  return std::min_element(trials.begin(), trials.end(),
                          [](const Trial& a, const Trial& b) { return a.milliseconds < b.milliseconds; })
      ->choice;
}

std::optional<LibraryProduct> taken(const std::vector<LibraryProduct>& ways, const Choice& choice) {
  LibraryProduct product = ways[choice.way];
  product.take(choice.algorithm);
  return product;
}

}  // namespace

std::optional<LibraryProduct> choose_product(std::vector<LibraryProduct> ways, cohort::cuda::CudaDevice& device,
                                             const ProductRest& rest) {
  if (!op_determinism_enabled() && work_of(ways.at(0).shape()) >= kLeastWork) {
    const std::string key = key_of(ways, device);
    KnownChoices& known = KnownChoices::instance();
    if (const auto choice = known.find(key); choice && choice->way < ways.size()) {
      if (ways[choice->way].accepts(choice->algorithm)) return taken(ways, *choice);
    }
    if (const auto choice = try_out(ways, device, rest)) {
      known.add(key, *choice);
      return taken(ways, *choice);
    }
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto algorithms = ways[i].algorithms(1);
    if (!algorithms.empty()) return taken(ways, {i, algorithms[0]});
  }
  return std::nullopt;
}

}  // namespace cohort::kernels::cuda
