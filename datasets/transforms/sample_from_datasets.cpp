#include "cohort/datasets/transforms/sample_from_datasets.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "cohort/core/random.h"
#include "cohort/datasets/transforms/joined_inputs.h"
#include "cohort/datasets/transforms/take.h"

namespace cohort::datasets {
namespace {

constexpr const char* kSample = "datasets.sample_from_datasets";
// Told apart from random ops that share the seed.
constexpr std::uint64_t kSampleStream = 0x73616d706c65;

// What decides about the choices of an iterator, besides the pass.
struct SampleSeed {
  std::uint64_t seed;
  std::uint64_t run;  // of several iterators of the dataset, which one
  bool rerandomize;   // other choices in every pass

  PhiloxStream stream(std::uint64_t pass) const {
    return rerandomize ? PhiloxStream({.seed = seed, .epoch = pass, .step = run}, kSampleStream, 0)
                       : PhiloxStream({.seed = seed}, kSampleStream, 0);
  }
};

class SampleIterator : public DatasetIterator {
 public:
  SampleIterator(std::vector<std::unique_ptr<DatasetIterator>> inputs, std::vector<double> weights, SampleSeed seed,
                 bool stop_on_empty)
      : inputs_(std::move(inputs)), weights_(std::move(weights)), seed_(seed), stop_on_empty_(stop_on_empty) {
    begin();
  }

  bool next(Tensors& element) override {
    while (left_ > 0) {
      // Before it is read: one that throws is behind it, too.
      const std::size_t chosen = choice(drawn_++);
      if (inputs_[chosen]->next(element)) {
        key_ = inputs_[chosen]->key();
        // Elements of the first are known as before, those of others apart from them.
        if (key_ && chosen > 0) key_->number = hash_combine(key_->number, chosen);
        return true;
      }
      end(chosen);
    }
    return false;
  }
  // Choices are drawn first; of what is passed by nothing is computed.
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    while (passed < count && left_ > 0) {
      const std::uint64_t wanted = std::min(count - passed, kMostAtOnce);
      const std::string before = state_of_inputs();
      const std::vector<std::uint64_t> asked = choices_of(wanted), got = skip_each(asked);
      if (got == asked) {
        drawn_ += wanted;
        passed += wanted;
        continue;
      }
      // One ended: up to there, after which others are chosen.
      const auto [whole, ended] = first_without(asked, got);
      StateReader reader(before);
      for (const auto& input : inputs_) input->restore_from(reader);
      skip_each(choices_of(whole));
      drawn_ += whole + 1;
      passed += whole;
      end(ended);
    }
    return passed;
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override {
    ++pass_;
    for (const auto& input : inputs_) input->rewind();
    begin();
  }
  void save_to(StateWriter& state) const override {
    state.stage('D');
    state.number(seed_.seed);
    state.number(seed_.run);
    state.number(pass_);
    state.number(drawn_);
    for (const bool ended : ended_) state.number(ended);
    for (const auto& input : inputs_) input->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('D');
    // The seed travels: another process may have drawn another one.
    seed_.seed = state.number();
    seed_.run = state.number();
    pass_ = state.number();
    begin();
    drawn_ = state.number();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (state.number() != 0) take_out(i);
    }
    for (const auto& input : inputs_) input->restore_from(state);
  }

 private:
  static constexpr std::uint64_t kMostAtOnce = 1 << 16;

  void begin() {
    stream_ = seed_.stream(pass_);
    drawn_ = 0;
    left_ = inputs_.size();
    ended_.assign(inputs_.size(), false);
    sum_up();
  }
  void end(std::size_t input) {
    if (!stop_on_empty_) return take_out(input);
    for (std::size_t i = 0; i < inputs_.size(); ++i) take_out(i);
  }
  void take_out(std::size_t input) {
    if (ended_[input]) return;
    ended_[input] = true;
    --left_;
    sum_up();
  }
  // Only what has not ended is chosen from.
  void sum_up() {
    sums_.clear();
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) sums_.push_back(sum += ended_[i] ? 0 : weights_[i]);
  }

  std::size_t choice(std::uint64_t number) const {
    const std::array<std::uint32_t, 4> block = stream_.block(number / 2);
    const std::size_t half = number % 2 * 2;
    const std::uint64_t word = (std::uint64_t{block[half]} << 32) | block[half + 1];
    const double point = static_cast<double>(word >> 11) * 0x1p-53 * sums_.back();
    auto chosen = static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end(), point) - sums_.begin());
    // A product that is rounded up to the sum belongs to the last one.
    for (chosen = std::min(chosen, sums_.size() - 1); ended_[chosen]; --chosen) {
    }
    return chosen;
  }

  // How many of the next `count` choices fall on each.
  std::vector<std::uint64_t> choices_of(std::uint64_t count) const {
    std::vector<std::uint64_t> counts(inputs_.size());
    for (std::uint64_t i = 0; i < count; ++i) ++counts[choice(drawn_ + i)];
    return counts;
  }
  std::vector<std::uint64_t> skip_each(const std::vector<std::uint64_t>& counts) {
    std::vector<std::uint64_t> passed(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) passed[i] = counts[i] == 0 ? 0 : inputs_[i]->skip(counts[i]);
    return passed;
  }
  // How many choices go before the first that finds nothing, and which one that is.
  std::pair<std::uint64_t, std::size_t> first_without(const std::vector<std::uint64_t>& asked,
                                                      std::vector<std::uint64_t> there) const {
    for (std::uint64_t i = 0;; ++i) {
      const std::size_t chosen = choice(drawn_ + i);
      if (there[chosen] == 0 && asked[chosen] > 0) return {i, chosen};
      --there[chosen];
    }
  }
  std::string state_of_inputs() const {
    std::string state;
    StateWriter writer(state);
    for (const auto& input : inputs_) input->save_to(writer);
    return state;
  }

  std::vector<std::unique_ptr<DatasetIterator>> inputs_;
  std::vector<double> weights_, sums_;
  SampleSeed seed_;
  bool stop_on_empty_;
  std::uint64_t pass_ = 0, drawn_ = 0;
  std::vector<bool> ended_;
  std::size_t left_ = 0;
  PhiloxStream stream_{{}, 0, 0};
  std::optional<ElementKey> key_;
};

ElementSpec sampled_spec(const ElementSpec& first, const ElementSpec& other) {
  if (const std::optional<ElementSpec> spec = common_spec(first, other)) return *spec;
  throw invalid_argument(kSample, "datasets of elements of one structure and the same types are expected",
                         {{"first", to_string(first)}, {"other", to_string(other)}});
}

class SampleStage : public DatasetStage {
 public:
  SampleStage(const std::vector<Dataset>& inputs, const Attributes& attributes)
      : inputs_(inputs),
        weights_(attributes.get<std::vector<double>>("weights")),
        seed_(static_cast<std::uint64_t>(attributes.get<std::int64_t>("seed"))),
        stop_on_empty_(attributes.get<bool>("stop_on_empty_dataset", false)),
        rerandomize_(attributes.get<bool>("rerandomize_each_iteration", false)) {
    if (inputs.empty() || weights_.size() != inputs.size()) {
      throw invalid_argument(kSample, "a weight for each of at least one dataset is expected",
                             {{"datasets", inputs.size()}, {"weights", weights_.size()}});
    }
    for (const double weight : weights_) {
      if (!(weight > 0) || !std::isfinite(weight)) {
        throw invalid_argument(kSample, "weights above 0 are expected", {{"weight", weight}});
      }
    }
    spec_ = inputs[0].element_spec();
    for (const Dataset& input : inputs) spec_ = sampled_spec(spec_, input.element_spec());
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return stop_on_empty_ ? until_one_ends() : until_all_end(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    std::vector<std::unique_ptr<DatasetIterator>> iterators;
    for (const Dataset& input : inputs_) iterators.push_back(input.make_iterator());
    return std::make_unique<SampleIterator>(std::move(iterators), weights_,
                                            SampleSeed{seed_, runs_.fetch_add(1), rerandomize_}, stop_on_empty_);
  }

 private:
  std::int64_t until_one_ends() const {
    const bool endless = std::all_of(inputs_.begin(), inputs_.end(),
                                     [](const Dataset& input) { return input.cardinality() == kInfiniteCardinality; });
    return endless ? kInfiniteCardinality : kUnknownCardinality;
  }
  std::int64_t until_all_end() const {
    std::int64_t sum = 0;
    for (const Dataset& input : inputs_) {
      const std::int64_t count = input.cardinality();
      if (count == kInfiniteCardinality || (count >= 0 && sum >= 0 && count > INT64_MAX - sum)) {
        return kInfiniteCardinality;
      }
      sum = count == kUnknownCardinality || sum < 0 ? kUnknownCardinality : sum + count;
    }
    return sum;
  }

  std::vector<Dataset> inputs_;
  std::vector<double> weights_;
  std::uint64_t seed_;
  bool stop_on_empty_, rerandomize_;
  ElementSpec spec_;
  // A loop that makes an iterator for each epoch expects other choices each time where they are to change.
  mutable std::atomic<std::uint64_t> runs_{0};
};

COHORT_DATASET("sample_from_datasets", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<SampleStage>(inputs, attributes);
});

void check_weights(const std::vector<Dataset>& datasets, const std::vector<double>& weights) {
  if (datasets.empty()) throw invalid_argument(kSample, "at least one dataset is expected", {{"datasets", 0}});
  if (!weights.empty() && weights.size() != datasets.size()) {
    throw invalid_argument(kSample, "as many weights as datasets are expected",
                           {{"datasets", datasets.size()}, {"weights", weights.size()}});
  }
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) {
      throw invalid_argument(kSample, "weights of 0 or more are expected", {{"weight", weight}});
    }
  }
}

}  // namespace

Dataset sample_from_datasets(const std::vector<Dataset>& datasets, SampleOptions options) {
  check_weights(datasets, options.weights);
  std::vector<Dataset> chosen;
  std::vector<double> weights;
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    const double weight = options.weights.empty() ? 1 : options.weights[i];
    if (weight == 0) continue;
    chosen.push_back(datasets[i]);
    weights.push_back(weight);
  }
  if (chosen.empty()) return datasets[0].apply(take(0));
  // Drawn here and not by the iterator, so that the seed travels with the dataset.
  const std::int64_t seed = options.seed ? *options.seed : static_cast<std::int64_t>(next_op_seed());
  return chosen.size() == 1 ? chosen[0]
                            : Dataset::make("sample_from_datasets", chosen,
                                            {{"weights", weights},
                                             {"seed", seed},
                                             {"stop_on_empty_dataset", options.stop_on_empty_dataset},
                                             {"rerandomize_each_iteration", options.rerandomize_each_iteration}});
}

}  // namespace cohort::datasets
