#include "tests/support/counted_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "cohort/data/iterator_state.h"

namespace cohort::test {
namespace {

constexpr const char* kKind = "test>counted_source";

void walk_past(const std::string& trap) {
  const int file = ::open(trap.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  ::close(file);
  for (;;) ::pause();
}

class CountedIterator : public DatasetIterator {
 public:
  explicit CountedIterator(const CountedSourceOptions& options) : options_(options) {}
  bool next(Tensors& element) override {
    if (options_.elements >= 0 && done_ >= options_.elements) return false;
    if (options_.takes.count() > 0) std::this_thread::sleep_for(options_.takes);
    if (!options_.trap.empty()) walk_past(options_.trap);
    ++done_;
    element = {Tensor::full({1, 1}, static_cast<double>(done_)), Tensor::full({1, 1}, 0.0)};
    return true;
  }
  void rewind() override { done_ = 0; }
  void save_to(StateWriter& state) const override { state.number(static_cast<std::uint64_t>(done_)); }
  void restore_from(StateReader& state) override { done_ = static_cast<std::int64_t>(state.number()); }

 private:
  CountedSourceOptions options_;
  std::int64_t done_ = 0;
};

class CountedStage : public DatasetStage {
 public:
  explicit CountedStage(const CountedSourceOptions& options) : options_(options) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    if (!options_.known) return kUnknownCardinality;
    return options_.elements < 0 ? kInfiniteCardinality : options_.elements;
  }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<CountedIterator>(options_); }

 private:
  CountedSourceOptions options_;
  ElementSpec spec_ = ElementSpec::tuple({TensorSpec{DType::Float32, {1, 1}}, TensorSpec{DType::Float32, {1, 1}}});
};

COHORT_DATASET(kKind, [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<CountedStage>(
      CountedSourceOptions{.elements = attributes.get<std::int64_t>("elements"),
                           .known = attributes.get<std::int64_t>("known") != 0,
                           .takes = std::chrono::milliseconds(attributes.get<std::int64_t>("milliseconds")),
                           .trap = attributes.get<std::string>("trap")});
});

}  // namespace

Dataset counted_source(const CountedSourceOptions& options) {
  return Dataset::make(kKind, {},
                       {{"elements", options.elements},
                        {"known", std::int64_t{options.known}},
                        {"milliseconds", static_cast<std::int64_t>(options.takes.count())},
                        {"trap", options.trap}});
}

}  // namespace cohort::test
