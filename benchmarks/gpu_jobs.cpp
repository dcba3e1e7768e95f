#include "benchmarks/gpu_jobs.h"

#include <map>

#include "benchmarks/jobs.h"

namespace cohort::bench {
namespace {

Ref<Optimizer> sgd() { return optimizers::SGD(1e-3, {.momentum = 0.9}); }

// Inputs drawn from the normal distribution, and one of `classes` for each.
std::function<Element()> labelled(const Shape& inputs, int classes) {
  return [inputs, classes] {
    return Element::tuple({ops::random_normal(inputs), ops::random_uniform({inputs[0]}, 0, classes, int32)});
  };
}

GpuJob dense10(std::int64_t batch) {
  return {.steps = 300,
          .samples = batch,
          .optimizer = sgd(),
          .make_model = make_job("dense10").make_model,
          .make_batch = labelled({batch, 10}, 10)};
}

GpuJob small_cnn(std::int64_t batch) {
  return {.steps = 300,
          .samples = batch,
          .optimizer = sgd(),
          .make_model = make_job("small_cnn").make_model,
          .make_batch = labelled({batch, 28, 28, 1}, 10)};
}

GpuJob mlp(std::int64_t batch) {
  constexpr std::int64_t kWidth = 4096, kDepth = 4, kClasses = 1000;
  return {.steps = 30,
          .samples = batch,
          .flops = 6.0 * static_cast<double>(batch) * (kDepth * kWidth * kWidth + kWidth * kClasses),
          .optimizer = sgd(),
          .make_model =
              [] {
                std::vector<Ref<Layer>> all;
                for (std::int64_t i = 0; i < kDepth; ++i) all.push_back(layers::Dense(kWidth, {.activation = "relu"}));
                all.push_back(layers::Dense(kClasses));
                return std::make_unique<Sequential>(std::move(all));
              },
          .make_batch = labelled({batch, kWidth}, kClasses)};
}

SymbolicTensor normalized_conv(const SymbolicTensor& x, std::int64_t filters, std::int64_t size, std::int64_t stride) {
  const SymbolicTensor y = layers::Conv2D(filters, size, {.strides = stride, .padding = "same", .use_bias = false})(x);
  return layers::BatchNormalization({.momentum = 0.9, .epsilon = 1e-5})(y);
}

SymbolicTensor relu(const SymbolicTensor& x) { return layers::ReLU()(x); }

// 1x1, 3x3, 1x1, the stride in the middle; what comes in is added to what goes out.
SymbolicTensor bottleneck(const SymbolicTensor& input, std::int64_t filters, std::int64_t stride) {
  SymbolicTensor x = relu(normalized_conv(input, filters, 1, 1));
  x = relu(normalized_conv(x, filters, 3, stride));
  x = normalized_conv(x, 4 * filters, 1, 1);
  const bool same_size = stride == 1 && input.shape().back() == 4 * filters;
  return relu(x + (same_size ? input : normalized_conv(input, 4 * filters, 1, stride)));
}

constexpr std::int64_t kImageSize = 224;
constexpr int kImageClasses = 1000;

std::unique_ptr<Model> make_resnet50() {
  const SymbolicTensor image = Input({kImageSize, kImageSize, 3});
  SymbolicTensor x = relu(normalized_conv(image, 64, 7, 2));
  x = layers::MaxPooling2D(3, {.strides = 2, .padding = "same"})(x);
  const int blocks[] = {3, 4, 6, 3};
  std::int64_t filters = 64;
  for (int stack = 0; stack < 4; ++stack, filters *= 2) {
    for (int block = 0; block < blocks[stack]; ++block) {
      x = bottleneck(x, filters, stack > 0 && block == 0 ? 2 : 1);
    }
  }
  x = layers::GlobalAveragePooling2D()(x);
  return std::make_unique<Model>(image, layers::Dense(kImageClasses)(x));
}

GpuJob resnet50(std::int64_t batch) {
  constexpr double kForwardMultiplyAdds = 4.09e9;  // of an image
  return {.steps = 30,
          .samples = batch,
          .flops = 3 * 2 * kForwardMultiplyAdds * static_cast<double>(batch),
          .optimizer = sgd(),
          .make_model = make_resnet50,
          .make_batch = labelled({batch, kImageSize, kImageSize, 3}, kImageClasses)};
}

constexpr std::int64_t kContext = 1024, kVocabulary = 50304, kWidth = 768, kHeads = 12, kBlocks = 12;

// Adds to each step what its place stands for.
class PositionEmbedding : public Layer {
 public:
  void build(const Shape& input) override {
    positions_ = add_weight("positions", {input[1], input[2]}, {.initializer = "uniform"});
  }
  Tensor call(const Tensor& x, const CallContext&) override { return x + positions_; }

 private:
  Variable positions_;
};

SymbolicTensor layer_norm(const SymbolicTensor& x) { return layers::LayerNormalization({.epsilon = 1e-5})(x); }

// One product for queries, keys and values, which are then cut apart.
SymbolicTensor causal_attention(const SymbolicTensor& x) {
  std::vector<SymbolicTensor> parts = ops::split(layers::Dense(3 * kWidth)(x), 3, -1);
  for (SymbolicTensor& part : parts) part = layers::Reshape({kContext, kHeads, kWidth / kHeads})(part);
  const SymbolicTensor heads = ops::dot_product_attention(parts[0], parts[1], parts[2], {.is_causal = true});
  return layers::Dense(kWidth)(layers::Reshape({kContext, kWidth})(heads));
}

SymbolicTensor perceptron(const SymbolicTensor& x) {
  return layers::Dense(kWidth)(ops::gelu(layers::Dense(4 * kWidth)(x), /*approximate=*/true));
}

std::unique_ptr<Model> make_gpt2() {
  const SymbolicTensor tokens = Input({kContext}, {.dtype = int32});
  // The logits come in the type that layers compute in: promoted with the table they would be float32.
  const layers::ReversibleEmbedding vocabulary(
      kVocabulary, kWidth, {.reverse_dtype = to_string(mixed_precision::global_policy().compute_dtype())});
  SymbolicTensor x = make<PositionEmbedding>()(vocabulary(tokens));
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    x = x + causal_attention(layer_norm(x));
    x = x + perceptron(layer_norm(x));
  }
  return std::make_unique<Model>(tokens, vocabulary.reverse(layer_norm(x)));
}

GpuJob gpt2(std::int64_t batch) {
  constexpr double kWeights = kBlocks * 12 * kWidth * kWidth + kVocabulary * kWidth;  // that multiply a token
  const std::int64_t tokens = batch * kContext;
  return {.steps = 30,
          .samples = tokens,
          .flops = static_cast<double>(tokens) * (6 * kWeights + 12 * kBlocks * kWidth * kContext),
          .optimizer = optimizers::AdamW(1e-4, {.weight_decay = 0.01, .epsilon = 1e-8}),
          .make_model = make_gpt2,
          .make_batch = [batch] {
            const auto text = [batch] { return ops::random_uniform({batch, kContext}, 0, kVocabulary, int32); };
            return Element::tuple({text(), text()});
          }};
}

struct Entry {
  GpuJob (*make)(std::int64_t batch);
  std::int64_t batch;
};
const std::map<std::string, Entry> kGpuJobs = {{"dense10", {dense10, 64}},
                                               {"gpt2", {gpt2, 16}},
                                               {"mlp", {mlp, 8192}},
                                               {"resnet50", {resnet50, 256}},
                                               {"small_cnn", {small_cnn, 128}}};

// Hands its tensors out as they are, once in a pass.
class ResidentIterator : public DatasetIterator {
 public:
  explicit ResidentIterator(Tensors batch) : batch_(std::move(batch)) {}
  bool next(Tensors& element) override {
    if (std::exchange(done_, true)) return false;
    element = batch_;
    return true;
  }
  void rewind() override { done_ = false; }
  void save_to(StateWriter& state) const override {
    state.stage('D');
    state.number(done_);
  }
  void restore_from(StateReader& state) override {
    state.stage('D');
    done_ = state.number() != 0;
  }

 private:
  const Tensors batch_;
  bool done_ = false;
};

class ResidentStage : public DatasetStage {
 public:
  explicit ResidentStage(const Attributes& attributes)
      : batch_{attributes.get<Tensor>("x"), attributes.get<Tensor>("y")},
        spec_(ElementSpec::tuple({batch_[0].spec(), batch_[1].spec()})) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return 1; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<ResidentIterator>(batch_); }

 private:
  const Tensors batch_;
  const ElementSpec spec_;
};

constexpr const char* kResidentBatch = "bench.resident_batch";
COHORT_DATASET(kResidentBatch, [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<ResidentStage>(attributes);
});

}  // namespace

GpuJob make_gpu_job(const std::string& name, std::int64_t batch) {
  const Entry& entry = kGpuJobs.at(name);
  return entry.make(batch > 0 ? batch : entry.batch);
}

std::vector<std::string> gpu_job_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : kGpuJobs) names.push_back(name);
  return names;
}

Dataset resident_batch(const Element& batch) {
  return Dataset::make(kResidentBatch, {}, {{"x", batch[0].leaf()}, {"y", batch[1].leaf()}});
}

}  // namespace cohort::bench
