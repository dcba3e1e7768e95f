#include "cohort/datasets/utilities/timeseries_dataset_from_array.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/utilities/numpy_random.h"

namespace cohort::utils {
namespace {

constexpr const char* kTimeseries = "utils.timeseries_dataset_from_array";
constexpr std::int64_t kNotShuffled = -1;
constexpr std::uint64_t kDrawnBelow = 1000000;  // as Keras draws a seed
constexpr std::int64_t kMostSeed = (std::int64_t{1} << 32) - 1;

struct Windows {
  Tensor data, targets;  // targets may be undefined
  std::int64_t length, stride, rate, first, end;

  std::int64_t count() const {
    std::int64_t starts = end - first - (length - 1) * rate;
    if (targets.defined()) starts = std::min(starts, targets.shape()[0]);
    return starts <= 0 ? 0 : (starts - 1) / stride + 1;
  }
  std::size_t step_bytes() const {
    return static_cast<std::size_t>(data.shape().slice(1).num_elements()) * size_of(data.dtype());
  }
  std::size_t target_bytes() const {
    return static_cast<std::size_t>(targets.shape().slice(1).num_elements()) * size_of(targets.dtype());
  }
  Shape window_shape() const {
    Shape shape{length};
    for (const std::int64_t size : data.shape().slice(1)) shape.push_back(size);
    return shape;
  }
};

class TimeseriesElements : public IndexedElements {
 public:
  TimeseriesElements(std::shared_ptr<const Windows> windows, std::int64_t seed)
      : windows_(std::move(windows)), seed_(seed) {
    mix_starts();
  }

  std::uint64_t count() const override { return static_cast<std::uint64_t>(windows_->count()); }
  ElementKey key(ElementPlace place) const override { return {place.pass, number_at(place)}; }
  void read(ElementPlace place, Tensors& element) const override {
    const std::int64_t start = start_at(place);
    element.resize(windows_->targets.defined() ? 2 : 1);
    element[0].renew(windows_->data.dtype(), windows_->window_shape(), cpu());
    copy_window(start, static_cast<char*>(element[0].raw()));
    if (element.size() == 1) return;
    element[1].renew(windows_->targets.dtype(), windows_->targets.shape().slice(1), cpu());
    copy_target(start, static_cast<char*>(element[1].raw()));
  }
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves, const Specs&) const override {
    for (std::size_t row = 0; row < places.size(); ++row) {
      const std::int64_t start = start_at(places[row]);
      copy_window(start, leaves[0].first + row * leaves[0].row_bytes);
      if (leaves.size() > 1) copy_target(start, leaves[1].first + row * leaves[1].row_bytes);
    }
  }
  // The seed travels: another process may have drawn another one.
  void save_to(StateWriter& state) const override {
    state.stage('T');
    state.number(static_cast<std::uint64_t>(seed_ + 1));
  }
  void restore_from(StateReader& state) override {
    state.stage('T');
    const std::uint64_t seed = state.number();
    if (seed > static_cast<std::uint64_t>(kMostSeed) + 1 || (seed == 0) != (seed_ == kNotShuffled)) {
      throw invalid_argument("Iterator.restore", "the position of a dataset like this is expected",
                             {{"seed", static_cast<std::int64_t>(seed) - 1}});
    }
    if (static_cast<std::int64_t>(seed) - 1 == seed_) return;
    seed_ = static_cast<std::int64_t>(seed) - 1;
    mix_starts();
  }

 private:
  void mix_starts() {
    if (seed_ == kNotShuffled) return;
    order_.resize(static_cast<std::size_t>(windows_->count()));
    std::iota(order_.begin(), order_.end(), std::uint64_t{0});
    NumpyRandomState(static_cast<std::uint32_t>(seed_)).shuffle(std::span<std::uint64_t>(order_));
  }
  std::uint64_t number_at(ElementPlace place) const {
    return order_.empty() ? place.position : order_[static_cast<std::size_t>(place.position)];
  }
  std::int64_t start_at(ElementPlace place) const {
    return windows_->first + static_cast<std::int64_t>(number_at(place)) * windows_->stride;
  }
  void copy_window(std::int64_t start, char* to) const {
    const std::size_t bytes = windows_->step_bytes();
    if (bytes == 0) return;
    const char* from = static_cast<const char*>(windows_->data.raw()) + static_cast<std::size_t>(start) * bytes;
    const auto length = static_cast<std::size_t>(windows_->length), rate = static_cast<std::size_t>(windows_->rate);
    if (rate == 1) {
      std::memcpy(to, from, length * bytes);
      return;
    }
    for (std::size_t step = 0; step < length; ++step) std::memcpy(to + step * bytes, from + step * rate * bytes, bytes);
  }
  void copy_target(std::int64_t start, char* to) const {
    const Tensor& targets = windows_->targets;
    if (start >= std::min(targets.shape()[0], windows_->end)) {
      throw invalid_argument(kTimeseries, "a target for every sequence is expected",
                             {{"sequence starts at", start}, {"targets.size", targets.shape()[0]}},
                             "Give as many targets as steps up to end_index.");
    }
    const std::size_t bytes = windows_->target_bytes();
    if (bytes > 0)
      std::memcpy(to, static_cast<const char*>(targets.raw()) + static_cast<std::size_t>(start) * bytes, bytes);
  }

  std::shared_ptr<const Windows> windows_;
  std::int64_t seed_;
  std::vector<std::uint64_t> order_;  // empty: as they come
};

void check_windows(const Windows& all) {
  for (const Tensor* each : {&all.data, &all.targets}) {
    if (!each->defined() && each == &all.targets) continue;
    if (!each->defined() || each->is_symbolic() || !is_plain(each->dtype()) || each->rank() == 0) {
      throw invalid_argument(kTimeseries, "tensors of numbers with at least one axis are expected",
                             {{"tensor", each->defined() ? each->spec().to_string() : "none"}});
    }
  }
  const std::int64_t steps = all.data.shape()[0];
  const bool inside = all.first >= 0 && all.end <= steps && all.length >= 1 && all.length <= steps + 1 &&
                      all.stride >= 1 && all.rate >= 1 && all.rate <= steps + 1;
  if (!inside) {
    throw invalid_argument(kTimeseries, "sequences inside the data are expected",
                           {{"steps", steps},
                            {"start_index", all.first},
                            {"end_index", all.end},
                            {"sequence_length", all.length},
                            {"sampling_rate", all.rate},
                            {"sequence_stride", all.stride}});
  }
}

class TimeseriesStage : public DatasetStage {
 public:
  TimeseriesStage(Windows windows, std::int64_t seed) : seed_(seed) {
    check_windows(windows);
    if (seed < kNotShuffled || seed > kMostSeed) {
      throw invalid_argument(kTimeseries, "a seed from 0 to 2^32 - 1 is expected", {{"seed", seed}});
    }
    const ElementSpec window = TensorSpec{windows.data.dtype(), windows.window_shape()};
    spec_ = windows.targets.defined()
                ? ElementSpec::tuple({window, TensorSpec{windows.targets.dtype(), windows.targets.shape().slice(1)}})
                : window;
    windows_ = std::make_shared<const Windows>(std::move(windows));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return windows_->count(); }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<TimeseriesElements>(windows_, seed_);
  }

 private:
  std::shared_ptr<const Windows> windows_;
  std::int64_t seed_;
  ElementSpec spec_;
};

COHORT_DATASET("timeseries", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  datasets::check_no_inputs(kTimeseries, inputs);
  const auto number = [&](const char* name) { return attributes.get<std::int64_t>(name); };
  return std::make_shared<TimeseriesStage>(
      Windows{attributes.get<Tensor>("data"), attributes.get<Tensor>("targets", Tensor()), number("sequence_length"),
              number("sequence_stride"), number("sampling_rate"), number("start_index"), number("end_index")},
      number("seed"));
});

void expect_of_series(bool holds, const char* expected, const char* name, std::int64_t value, std::int64_t steps) {
  if (!holds) throw invalid_argument(kTimeseries, expected, {{name, value}, {"data.size", steps}});
}

// In Keras's order, with its words; 0 is taken for none there.
void check_range(const TimeseriesOptions& options, std::int64_t steps) {
  const std::int64_t start = options.start_index.value_or(0), end = options.end_index.value_or(0);
  expect_of_series(start >= 0, "`start_index` must be 0 or greater", "start_index", start, steps);
  expect_of_series(start == 0 || start < steps, "`start_index` must be lower than the length of the data",
                   "start_index", start, steps);
  if (end == 0) return;
  if (start != 0 && end <= start) {
    throw invalid_argument(kTimeseries, "`end_index` must be higher than `start_index`",
                           {{"start_index", start}, {"end_index", end}});
  }
  expect_of_series(end < steps, "`end_index` must be lower than the length of the data", "end_index", end, steps);
  expect_of_series(end > 0, "`end_index` must be higher than 0", "end_index", end, steps);
}

void check_strides(const TimeseriesOptions& options, std::int64_t steps) {
  const std::int64_t rate = options.sampling_rate, stride = options.sequence_stride;
  expect_of_series(rate > 0, "`sampling_rate` must be higher than 0", "sampling_rate", rate, steps);
  expect_of_series(rate < steps, "`sampling_rate` must be lower than the length of the data", "sampling_rate", rate,
                   steps);
  expect_of_series(stride > 0, "`sequence_stride` must be higher than 0", "sequence_stride", stride, steps);
  expect_of_series(stride < steps, "`sequence_stride` must be lower than the length of the data", "sequence_stride",
                   stride, steps);
}

}  // namespace

Dataset timeseries_dataset_from_array(const Tensor& data, const Tensor& targets, std::int64_t sequence_length,
                                      const TimeseriesOptions& options) {
  if (!data.defined() || data.rank() == 0) throw invalid_argument(kTimeseries, "data with an axis of time is expected");
  const std::int64_t steps = data.shape()[0];
  check_range(options, steps);
  check_strides(options, steps);
  expect_of_series(sequence_length > 0, "`sequence_length` must be higher than 0", "sequence_length", sequence_length,
                   steps);
  expect_of_series(options.batch_size >= 0, "`batch_size` must be 0 or greater", "batch_size", options.batch_size,
                   steps);
  std::int64_t seed = options.seed.value_or(0);
  if (seed < 0 || seed > kMostSeed)
    throw invalid_argument(kTimeseries, "a seed from 0 to 2^32 - 1 is expected", {{"seed", seed}});
  if (options.shuffle && !options.seed) seed = static_cast<std::int64_t>(next_op_seed() % kDrawnBelow);
  Attributes attributes{{"data", data.to_host()},
                        // No sequence fits where it is longer than the data: how much longer is the same.
                        {"sequence_length", std::min(sequence_length, steps + 1)},
                        {"sequence_stride", options.sequence_stride},
                        {"sampling_rate", options.sampling_rate},
                        {"start_index", options.start_index.value_or(0)},
                        {"end_index", options.end_index.value_or(steps)},
                        {"seed", options.shuffle ? seed : kNotShuffled}};
  if (targets.defined()) attributes.set("targets", targets.to_host());
  Dataset dataset = Dataset::make("timeseries", {}, std::move(attributes));
  if (options.shuffle) {
    constexpr std::int64_t kBatchesHeld = 8, kHeldWithoutBatches = 1024;
    dataset = dataset.shuffle(options.batch_size > 0 ? options.batch_size * kBatchesHeld : kHeldWithoutBatches,
                              {.seed = seed});
  }
  return options.batch_size > 0 ? dataset.batch(options.batch_size) : dataset;
}

}  // namespace cohort::utils
