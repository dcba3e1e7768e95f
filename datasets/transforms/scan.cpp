#include "cohort/datasets/transforms/scan.h"

#include <algorithm>
#include <cstring>

#include "cohort/datasets/transforms/traced_function.h"

namespace cohort::datasets {
namespace {

constexpr const char* kScan = "Dataset.scan";

void write_tensor(const Tensor& tensor, StateWriter& state) {
  state.number(static_cast<std::uint64_t>(tensor.rank()));
  for (const std::int64_t size : tensor.shape()) state.number(static_cast<std::uint64_t>(size));
  if (tensor.dtype() == DType::String) {
    for (const std::string& text : tensor.to_strings()) state.bytes(text);
  } else {
    state.bytes({static_cast<const char*>(tensor.raw()), tensor.bytes()});
  }
}

// Throws unless a tensor like `spec` was written.
Tensor read_tensor(const TensorSpec& spec, StateReader& state) {
  const std::uint64_t rank = state.number();
  std::vector<std::int64_t> sizes;
  for (std::uint64_t i = 0; i < rank && i <= Shape::kMaxRank; ++i) {
    sizes.push_back(static_cast<std::int64_t>(state.number()));
  }
  const bool none_negative = std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size >= 0; });
  const bool fits =
      none_negative && static_cast<int>(sizes.size()) == spec.shape.rank() && Shape(sizes).compatible(spec.shape);
  const auto refuse = [&] {
    throw invalid_argument("Iterator.restore", "the state of the same scan is expected", {{"tensor", spec}});
  };
  if (!fits) refuse();
  const Shape shape(sizes);
  if (spec.dtype == DType::String) {
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) texts.emplace_back(state.bytes());
    return Tensor::of_strings(std::move(texts), shape);
  }
  const std::string_view bytes = state.bytes();
  unsigned __int128 expected = size_of(spec.dtype);
  for (const std::int64_t size : shape) expected *= static_cast<std::uint64_t>(size);
  if (expected != bytes.size()) refuse();
  const Tensor tensor = Tensor::empty(spec.dtype, shape, cpu());
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

class ScanIterator : public TransformIterator {
 public:
  // `specs` are those that a state may have.
  ScanIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<TracedFunction> function, Tensors initial,
               std::shared_ptr<const Specs> specs)
      : TransformIterator(std::move(input)),
        function_(std::move(function)),
        initial_(std::move(initial)),
        specs_(std::move(specs)),
        state_(initial_) {}

  bool next(Tensors& element) override {
    // Before it is read: one that throws is behind it, too.
    const std::uint64_t number = number_++;
    if (!input_->next(incoming_)) return --number_, false;
    key_ = input_->key();
    arguments_.assign(state_.begin(), state_.end());
    arguments_.insert(arguments_.end(), incoming_.begin(), incoming_.end());
    lend(element);
    function_->run(arguments_, results_, key_.value_or(ElementKey{pass_, number}));
    arguments_.clear();
    keep_state();
    element.assign(std::make_move_iterator(results_.begin() + static_cast<std::ptrdiff_t>(state_.size())),
                   std::make_move_iterator(results_.end()));
    return true;
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override {
    ++pass_;
    number_ = 0;
    state_ = initial_;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('N');
    state.number(pass_);
    state.number(number_);
    for (const Tensor& each : state_) write_tensor(each, state);
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('N');
    pass_ = state.number();
    number_ = state.number();
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] = read_tensor((*specs_)[i], state);
    input_->restore_from(state);
  }

 private:
  // The function writes its results over what the element holds.
  void lend(Tensors& element) {
    results_.resize(state_.size() + element.size());
    std::move(element.begin(), element.end(), results_.begin() + static_cast<std::ptrdiff_t>(state_.size()));
  }
  // The state before keeps its memory for the one after the next.
  void keep_state() {
    for (std::size_t i = 0; i < state_.size(); ++i) std::swap(state_[i], results_[i]);
  }

  std::shared_ptr<TracedFunction> function_;
  Tensors initial_;
  std::shared_ptr<const Specs> specs_;
  Tensors state_, incoming_, arguments_, results_;
  std::uint64_t pass_ = 0, number_ = 0;
  std::optional<ElementKey> key_;
};

std::string of_state(const char* name, std::size_t leaf) { return name + std::to_string(leaf); }

class ScanStage : public TransformStage {
 public:
  ScanStage(const std::vector<Dataset>& inputs, const Attributes& attributes) : TransformStage(kScan, inputs) {
    Specs states;
    for (std::size_t i = 0; attributes.has(of_state("state_", i)); ++i) {
      initial_.push_back(attributes.get<Tensor>(of_state("state_", i)));
      states.push_back({initial_[i].dtype(), attributes.get<Shape>(of_state("state_shape_", i))});
    }
    const ElementSpec state = parse_structure(attributes.get<std::string>("state_structure"), states);
    function_ =
        std::make_shared<TracedFunction>(kScan, ElementSpec::tuple({state, input().element_spec()}), attributes);
    const ElementSpec& both = function_->result_spec();
    if (both.kind() != ElementSpec::Kind::Tuple || both.size() != 2) {
      throw invalid_argument(kScan, "a function that gives a state and a result is expected",
                             {{"results", to_string(both)}});
    }
    check_states(states, both[0]);
    spec_ = both[1];
    state_specs_ = std::make_shared<const Specs>(std::move(states));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<ScanIterator>(input().make_iterator(), function_, initial_, state_specs_);
  }

 private:
  void check_states(const Specs& states, const ElementSpec& next_state) const {
    const Specs next = next_state.flatten();
    bool fits = next.size() == states.size();
    for (std::size_t i = 0; fits && i < states.size(); ++i) {
      fits = next[i].dtype == states[i].dtype && states[i].shape.compatible(next[i].shape) &&
             states[i].shape.compatible(initial_[i].shape());
    }
    if (!fits) {
      throw invalid_argument(kScan, "a next state of the types and shapes of the initial one is expected",
                             {{"states", states.size()}, {"next", to_string(next_state)}});
    }
  }

  Tensors initial_;
  std::shared_ptr<const Specs> state_specs_;
  std::shared_ptr<TracedFunction> function_;
  ElementSpec spec_;
};

COHORT_DATASET("scan", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<ScanStage>(inputs, attributes);
});

// The initial state on the host; throws where it has no values.
Element checked_state(const Element& initial) {
  return initial.map([](const Tensor& leaf) {
    if (!leaf.defined() || leaf.is_symbolic() || leaf.dtype() == DType::Resource) {
      throw invalid_argument(kScan, "an initial state of tensors with values is expected",
                             {{"tensor", leaf.defined() ? leaf.spec().to_string() : "none"}});
    }
    return leaf.to_host();
  });
}

// Makes axes unknown that differ between a state and the next; whether there were any.
bool widen(const ElementSpec& next, ElementSpec& state) {
  if (!state.same_structure(next)) {
    throw invalid_argument(kScan, "a next state of the structure of the initial one is expected",
                           {{"state", to_string(state)}, {"next", to_string(next)}});
  }
  std::vector<TensorSpec> leaves = state.flatten();
  const std::vector<TensorSpec> others = next.flatten();
  bool changed = false;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].dtype != others[i].dtype || leaves[i].shape.rank() != others[i].shape.rank()) {
      throw invalid_argument(kScan, "a next state of the types and axes of the initial one is expected",
                             {{"state", leaves[i]}, {"next", others[i]}}, "Cast it in the function.");
    }
    for (int axis = 0; axis < leaves[i].shape.rank(); ++axis) {
      if (leaves[i].shape[axis] == kUnknown || leaves[i].shape[axis] == others[i].shape[axis]) continue;
      leaves[i].shape[axis] = kUnknown;
      changed = true;
    }
  }
  state = state.with_leaves(leaves);
  return changed;
}

}  // namespace

DatasetTransform scan(Element initial_state, ScanFunction f) {
  return [initial = checked_state(initial_state), f = std::move(f)](const Dataset& input) {
    ElementSpec state = spec_of(initial);
    Attributes attributes;
    // A state whose shape changes is traced again with that axis unknown.
    for (bool changed = true; changed;) {
      ElementSpec next;
      attributes = trace_function(kScan, ElementSpec::tuple({state, input.element_spec()}), [&](const Element& both) {
        const auto [new_state, result] = f(both[0], both[1]);
        next = spec_of(new_state);
        return Element::tuple({new_state, result});
      });
      changed = widen(next, state);
    }
    const Tensors values = initial.flatten();
    const std::vector<TensorSpec> specs = state.flatten();
    attributes.set("state_structure", structure_of(state));
    for (std::size_t i = 0; i < values.size(); ++i) {
      attributes.set(of_state("state_", i), values[i]);
      attributes.set(of_state("state_shape_", i), specs[i].shape);
    }
    return Dataset::make("scan", {input}, std::move(attributes));
  };
}

}  // namespace cohort::datasets
