// The pieces of docs/extending.md, as they stand there, and a model that uses all of them.
// clang-format off
#include <cohort/cohort.h>
#include <cohort/core/kernel.h>
#include <cohort/core/op.h>
#include <cohort/core/thread_pool.h>

#include <cmath>
#include <iostream>

namespace ch = cohort;
namespace ops = cohort::ops;

struct GatedOptions {
  std::int64_t units = 8;
  bool use_bias = true;
};
COHORT_FIELDS(GatedOptions, units, use_bias)

class Gated : public ch::Layer {
 public:
  explicit Gated(GatedOptions options = {}) : options_(options) {}
  void visit_fields(ch::FieldVisitor& visitor) override {
    Layer::visit_fields(visitor);
    visit_options(options_, visitor);
  }
  void build(const ch::Shape& input) override {
    kernel_ = add_weight("kernel", {input.back(), 2 * options_.units});
    if (options_.use_bias) bias_ = add_weight("bias", {2 * options_.units}, {.initializer = "zeros"});
  }
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext&) override {
    ch::Tensor y = ops::matmul(x, kernel_);
    if (options_.use_bias) y = y + bias_;
    const ch::Tensors halves = ops::split(y, 2, -1);
    return halves[0] * ops::sigmoid(halves[1]);
  }

 private:
  GatedOptions options_;
  ch::Variable kernel_, bias_;
};
COHORT_REGISTER(ch::Layer, Gated, "mine>Gated");

class PinballLoss : public ch::Loss {
 public:
  explicit PinballLoss(double quantile = 0.5) : Loss("pinball"), quantile_(quantile) {}
  void visit_fields(ch::FieldVisitor& visitor) override {
    Loss::visit_fields(visitor);
    visitor.field("quantile", quantile_);
  }
  ch::Tensor call(const ch::Tensor& y_true, const ch::Tensor& y_pred) override {
    const ch::Tensor error = y_true - y_pred;
    return ops::mean(ops::maximum(quantile_ * error, (quantile_ - 1.0) * error), -1);
  }

 private:
  double quantile_;
};
COHORT_REGISTER(ch::Loss, PinballLoss, "mine>PinballLoss", "pinball");

class WithinTolerance : public ch::Metric {
 public:
  explicit WithinTolerance(double tolerance = 0.1)
      : Metric("within_tolerance"), tolerance_(tolerance),
        hits_(add_variable("hits", {})), count_(add_variable("count", {})) {}
  void visit_fields(ch::FieldVisitor& visitor) override {
    Metric::visit_fields(visitor);
    visitor.field("tolerance", tolerance_);
  }
  void update_state(const ch::Tensor& y_true, const ch::Tensor& y_pred, const ch::Tensor&) override {
    const ch::Tensor close = ops::abs(y_true - y_pred) < tolerance_;
    hits_.assign_add(ops::sum(ops::cast(close, ch::DType::Float32)));
    count_.assign_add(ops::size_of(y_pred));
  }
  ch::Tensor result() override { return hits_.value() / ops::maximum(count_.value(), 1.0); }

 private:
  double tolerance_;
  ch::Variable hits_, count_;
};
COHORT_REGISTER(ch::Metric, WithinTolerance, "mine>WithinTolerance");

class SignSgd : public ch::Optimizer {
 public:
  explicit SignSgd(double learning_rate = 0.01) : Optimizer(learning_rate, {}, "sign_sgd") {}
  void build(const ch::Variables& variables) override {
    Optimizer::build(variables);
    for (const ch::Variable& variable : variables) momenta_.push_back(add_slot(variable, "momentum"));
  }
  void update_step(const ch::Gradient& gradient, const ch::Variable& variable,
                   const ch::Tensor& learning_rate) override {
    ch::Variable momentum = momenta_[static_cast<std::size_t>(index_of(variable))];
    const ch::Tensor next = 0.9 * momentum.value() + 0.1 * gradient.dense();
    momentum.assign(next);
    ch::Variable(variable).assign_sub(learning_rate * ops::sign(next));
  }

 private:
  ch::Variables momenta_;
};
COHORT_REGISTER(ch::Optimizer, SignSgd, "mine>SignSgd");

class Ramp : public ch::Initializer {
 public:
  explicit Ramp(double step = 0.01) : step_(step) {}
  void visit_fields(ch::FieldVisitor& visitor) override { visitor.field("step", step_); }
  ch::Tensor operator()(const ch::Shape& shape, ch::DType dtype) const override {
    std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(step_ * static_cast<double>(i));
    return ops::cast(ch::Tensor::of(values, shape), dtype);
  }

 private:
  double step_;
};
COHORT_REGISTER(ch::Initializer, Ramp, "mine>Ramp", "ramp");

class StopAt : public ch::Callback {
 public:
  explicit StopAt(double loss) : loss_(loss) {}
  void on_epoch_end(std::int64_t, ch::Logs& logs) override {
    if (logs.at("loss") < loss_) model().stop_training = true;
  }

 private:
  double loss_;
};

// Ready for fit: shuffled, in batches, computed ahead.
ch::DatasetTransform for_training(std::int64_t batch_size) {
  return [=](const ch::Dataset& data) { return data.shuffle(1000).batch(batch_size).prefetch(2); };
}

class DropEveryIterator : public ch::datasets::TransformIterator {
 public:
  DropEveryIterator(std::unique_ptr<ch::DatasetIterator> input, std::uint64_t n)
      : TransformIterator(std::move(input)), n_(n) {}
  bool next(ch::Tensors& element) override {
    if (++seen_ % n_ != 0) return input_->next(element);
    return input_->next(element) && next(element);
  }
  void rewind() override {
    seen_ = 0;
    input_->rewind();
  }
  void save_to(ch::StateWriter& state) const override {
    state.stage('D');
    state.number(seen_);
    input_->save_to(state);
  }
  void restore_from(ch::StateReader& state) override {
    state.stage('D');
    seen_ = state.number();
    input_->restore_from(state);
  }

 private:
  std::uint64_t n_, seen_ = 0;
};

class DropEveryStage : public ch::datasets::TransformStage {
 public:
  DropEveryStage(const std::vector<ch::Dataset>& inputs, std::int64_t n)
      : TransformStage("drop_every", inputs), n_(n) {}
  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    return available < 0 ? available : available - available / n_;
  }
  std::unique_ptr<ch::DatasetIterator> iterator() const override {
    return std::make_unique<DropEveryIterator>(input().make_iterator(), static_cast<std::uint64_t>(n_));
  }

 private:
  std::int64_t n_;
};
COHORT_DATASET("mine>drop_every", [](const std::vector<ch::Dataset>& inputs, const ch::Attributes& attributes) {
  return std::make_shared<DropEveryStage>(inputs, attributes.get<std::int64_t>("n"));
});

// The elements without every n-th one.
ch::DatasetTransform drop_every(std::int64_t n) {
  return ch::datasets::make_transform("mine>drop_every", {{"n", n}});
}

COHORT_OP("mine>Bump")
    .inputs(1)
    .attr("width", 1.0)
    .infer([](const ch::OpCall& call) {
      call.check(call.dtype(0) == ch::DType::Float32, "the input must be float32", {{"input", call.spec(0)}});
      return ch::same_as(call.spec(0));
    })
    .gradient([](const ch::OpCall& call, const ch::Tensor& dy) -> ch::Tensors {
      const double width = call.attr<double>("width");
      return {dy * call.output(0) * call.input(0) * (-2.0 / (width * width))};
    });

// exp(-(x / width)^2), element by element.
ch::Tensor bump(const ch::Tensor& x, double width = 1.0) {
  return ch::run_op("mine>Bump", {x}, {{"width", width}});
}

ch::KernelFn make_bump(const ch::KernelSpec& spec) {
  const auto width = static_cast<float>(spec.attr<double>("width"));
  const std::int64_t count = spec.input_size(0);
  return [=](const ch::KernelIO& io) {
    const float* x = io.in<float>(0);
    float* y = io.out<float>(0);
    ch::parallel_for(count, 4096, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = std::exp(-(x[i] / width) * (x[i] / width));
    });
  };
}
COHORT_KERNEL("mine>Bump", ch::kCPU, make_bump);

ch::Tensor soft_bump(const ch::Tensor& x) { return bump(x, 2.0); }
COHORT_REGISTER_FUNCTION("mine", soft_bump);

int main() {
  ch::set_random_seed(1);
  ch::Sequential model({ch::make<Gated>(GatedOptions{.units = 16}), ch::layers::Lambda("mine>soft_bump"),
                        ch::layers::Dense(1, {.kernel_initializer = "ramp"})});
  model.compile({.optimizer = ch::make<SignSgd>(0.01), .loss = ch::make<PinballLoss>(0.5),
                 .metrics = {ch::make<WithinTolerance>(0.2)}});
  const ch::Tensor x = ops::random_uniform({64, 3}, -1, 1), y = ops::sum(x, -1, ops::keep_dims);
  const ch::History history = model.fit(x, y, {.batch_size = 16, .epochs = 40, .verbose = 0, .callbacks = {ch::make<StopAt>(0.0)}});
  std::cout << history["loss"].front() << " " << history["loss"].back() << " "
            << history["within_tolerance"].back() << "\n";
  // A dataset with a transform of one's own is sent as any other.
  const ch::Dataset some = ch::parse_dataset(ch::serialize(ch::datasets::range(10).apply(drop_every(3))));
  const ch::Iterator batch = some.apply(ch::datasets::batch(10)).iterator();
  if (batch.next().leaf().to_vector<std::int64_t>() != std::vector<std::int64_t>{0, 1, 3, 4, 6, 7, 9}) return 1;
  if (some.cardinality() != 7 || some.apply(for_training(4)).cardinality() != 2) return 1;
  // Saved and loaded by the names they are registered under.
  model.save("extended.keras");
  const auto read = ch::load_model("extended.keras");
  const bool same = read->predict(x, {.verbose = 0}).to_vector<float>() == model.predict(x, {.verbose = 0}).to_vector<float>();
  const bool compiled = read->optimizer()->class_name() == "mine>SignSgd" &&
                        read->compile_options().loss.items.at(0).second.object()->class_name() == "mine>PinballLoss";
  return history["loss"].back() < 0.5 * history["loss"].front() && same && compiled ? 0 : 1;
}
