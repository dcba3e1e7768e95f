#include "cohort/datasets/sources/generator.h"

#include "cohort/core/error.h"
#include "cohort/data/broken_source.h"
#include "cohort/datasets/sources/element_check.h"
#include "cohort/datasets/sources/named_objects.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/transforms/spec_attributes.h"

namespace cohort::datasets {
namespace {

constexpr NamedKind kGenerators{"datasets.from_generator", "a generator", "COHORT_GENERATOR"};
using NamedGenerators = NamedObjects<const GeneratorFactory>;

class GeneratorIterator : public DatasetIterator {
 public:
  GeneratorIterator(std::shared_ptr<const GeneratorFactory> factory, const ElementSpec& spec)
      : factory_(std::move(factory)), spec_(spec), specs_(spec.flatten()) {}

  bool next(Tensors& element) override {
    const std::optional<Element> given = run();
    if (!given) return false;
    const std::uint64_t number = position_++;
    if (!given->same_structure(spec_)) {
      throw invalid_argument(
          kGenerators.who, "an element of the structure announced is expected",
          {{"element", number}, {"given", structure_of(*given)}, {"announced", structure_of(spec_)}});
    }
    element.clear();
    given->flatten_into(element);
    check_element(kGenerators.who, specs_, element, number);
    for (Tensor& leaf : element) leaf = leaf.to_host();
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    for (; passed < count && run(); ++passed) ++position_;
    return passed;
  }
  std::optional<ElementKey> key() const override {
    if (position_ == 0) return std::nullopt;
    return ElementKey{pass_, position_ - 1};
  }
  void rewind() override { begin(pass_ + 1); }
  void save_to(StateWriter& state) const override {
    state.stage('G');
    state.number(pass_);
    state.number(position_);
  }
  void restore_from(StateReader& state) override {
    state.stage('G');
    const std::uint64_t pass = state.number(), position = state.number();
    // Further on in the same pass is reached from here.
    if (pass != pass_ || position < position_ || ended_ || broken_) begin(pass);
    const std::uint64_t left = position - position_;
    if (skip(left) < left) {
      throw invalid_argument("Iterator.restore", "a generator that gives as many elements as before is expected",
                             {{"position", position}, {"elements", position_}});
    }
  }

 private:
  void begin(std::uint64_t pass) {
    generator_ = nullptr;
    pass_ = pass;
    position_ = 0;
    ended_ = false;
    broken_.reset();
  }
  std::optional<Element> run() {
    if (broken_) throw BrokenSource(*broken_);
    if (ended_) return std::nullopt;
    try {
      if (!generator_) generator_ = (*factory_)();
      if (!generator_) throw invalid_argument(kGenerators.who, "a factory that gives a generator is expected");
      std::optional<Element> element = generator_();
      ended_ = !element;
      return element;
    } catch (const Error& error) {
      broken_ = error;
    } catch (const std::exception& error) {
      broken_ = Error(ErrorCode::Internal, kGenerators.who, "a generator that does not throw is expected",
                      {{"element", position_}, {"error", error.what()}});
    }
    generator_ = nullptr;
    throw BrokenSource(*broken_);
  }

  std::shared_ptr<const GeneratorFactory> factory_;
  ElementSpec spec_;
  Specs specs_;
  Generator generator_;
  bool ended_ = false;
  std::optional<Error> broken_;
  std::uint64_t pass_ = 0, position_ = 0;
};

class GeneratorStage : public DatasetStage {
 public:
  GeneratorStage(std::shared_ptr<const GeneratorFactory> factory, ElementSpec spec)
      : factory_(std::move(factory)), spec_(std::move(spec)) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<GeneratorIterator>(factory_, spec_);
  }

 private:
  std::shared_ptr<const GeneratorFactory> factory_;
  ElementSpec spec_;
};

COHORT_DATASET("generator", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kGenerators.who, inputs);
  const auto name = attributes.get<std::string>("name");
  const NamedGenerators& all = NamedGenerators::instance();
  return std::make_shared<GeneratorStage>(
      name.empty() ? all.find_local(kGenerators, attributes.get<std::string>("local_function"))
                   : all.find(kGenerators, name),
      element_spec_of(kGenerators.who, attributes));
});

Dataset make_generator(const std::string& name, const std::string& local, const ElementSpec& spec) {
  Attributes attributes{{"name", name}, {"local_function", local}};
  add_element_spec(spec, attributes);
  return Dataset::make("generator", {}, std::move(attributes));
}

}  // namespace

Dataset from_generator(GeneratorFactory factory, const ElementSpec& spec) {
  if (!factory) throw invalid_argument(kGenerators.who, "a function that makes generators is expected");
  const auto shared = std::make_shared<const GeneratorFactory>(std::move(factory));
  return make_generator("", NamedGenerators::instance().add_local(shared), spec);
}

Dataset from_generator(const std::string& name, const ElementSpec& spec) {
  if (name.empty()) throw invalid_argument(kGenerators.who, "the name of a generator is expected", {{"name", name}});
  return make_generator(name, "", spec);
}

bool register_generator(const std::string& name, GeneratorFactory factory) {
  NamedGenerators::instance().add(kGenerators, name, std::make_shared<const GeneratorFactory>(std::move(factory)));
  return true;
}

}  // namespace cohort::datasets
