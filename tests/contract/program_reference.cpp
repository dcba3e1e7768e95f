// The code of docs/reference as it stands there, in one program that runs all of it.
// clang-format off
#include <cohort/cohort.h>
namespace ch = cohort;

#include <iostream>
#include <stdexcept>

class Scale : public ch::Layer {
 public:
  explicit Scale(double start = 1.0) : start_(start) {}
  void build(const ch::Shape& input) override {
    gain_ = add_weight("gain", {input.back()}, {.initializer = ch::initializers::Constant(start_)});
  }
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext& context) override {
    return context.training ? x * gain_ : x * ch::ops::stop_gradient(gain_);
  }
  // Needed only to save it: all fields of its config.
  void visit_fields(ch::FieldVisitor& visitor) override {
    Layer::visit_fields(visitor);
    visitor.field("start", start_);
  }

 private:
  double start_;
  ch::Variable gain_;
};
COHORT_REGISTER_LAYER("mine", Scale);  // saved and loaded as "mine>Scale"

class Classifier : public ch::Model {
 public:
  explicit Classifier(std::int64_t classes) : head_(track("head", ch::layers::Dense(classes))) {}
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext& context) override {
    return head_(dropout_(hidden_(x), {.training = context.training}));
  }
  void train_step(const ch::Element& data) override {
    const auto [x, y, sample_weight] = ch::unpack_x_y_sample_weight(data);
    ch::GradientTape tape;
    const ch::Element predictions = forward(x, true);
    const ch::Tensor loss = compute_loss(x, y, predictions, sample_weight, true);
    const ch::Variables weights = trainable_variables();
    optimizer()->apply(tape.gradient(optimizer()->scale_loss(loss), weights), weights);
    track_loss(loss, x);
    compute_metrics(x, y, predictions, sample_weight);
  }

 private:
  ch::layers::Dense hidden_ = track("hidden", ch::layers::Dense(16, {.activation = "relu"}));
  ch::layers::Dropout dropout_ = track("dropout", ch::layers::Dropout(0.5));
  ch::layers::Dense head_;
};

class Pinball : public ch::Loss {
 public:
  explicit Pinball(double quantile = 0.5) : Loss("pinball"), quantile_(quantile) {}
  ch::Tensor call(const ch::Tensor& y_true, const ch::Tensor& y_pred) override {
    const ch::Tensor error = y_true - y_pred;
    return ch::ops::mean(ch::ops::maximum(quantile_ * error, (quantile_ - 1.0) * error), -1);
  }

 private:
  double quantile_;
};

class WithinTolerance : public ch::Metric {
 public:
  explicit WithinTolerance(double tolerance = 0.1)
      : Metric("within_tolerance"), tolerance_(tolerance), hits_(add_variable("hits", {})), count_(add_variable("count", {})) {}
  void update_state(const ch::Tensor& y_true, const ch::Tensor& y_pred, const ch::Tensor&) override {
    const ch::Tensor close = ch::ops::abs(y_true - y_pred) < tolerance_;
    hits_.assign_add(ch::ops::sum(ch::ops::cast(close, ch::DType::Float32)));
    count_.assign_add(ch::ops::size_of(y_pred));
  }
  ch::Tensor result() override { return hits_.value() / ch::ops::maximum(count_.value(), 1.0); }

 private:
  double tolerance_;
  ch::Variable hits_, count_;
};

class StopAt : public ch::Callback {
 public:
  explicit StopAt(double accuracy) : accuracy_(accuracy) {}
  void on_epoch_end(std::int64_t /*epoch*/, ch::Logs& logs) override {
    if (logs.find("accuracy").value_or(0.0) >= accuracy_) model().stop_training = true;
  }

 private:
  double accuracy_;
};

void check(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

ch::Tensor noise(const ch::Shape& shape) { return ch::ops::random_uniform(shape); }

void functional_model() {
const ch::Tensor images = noise({16, 28, 28, 1}), labels = ch::ops::random_uniform({16}, 0, 10, ch::DType::Int32);
ch::SymbolicTensor inputs = ch::Input({28, 28, 1});
ch::SymbolicTensor x = ch::layers::Conv2D(32, 3, {.activation = "relu"})(inputs);
x = ch::layers::GlobalAveragePooling2D()(x);
ch::Model model(inputs, ch::layers::Dense(10)(x));

model.compile({.optimizer = ch::optimizers::Adam(1e-3),
               .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
               .metrics = {"accuracy"}});
ch::History history = model.fit(images, labels, {.batch_size = 32, .epochs = 2, .verbose = 0, .validation_split = 0.25});
double accuracy = model.evaluate(images, labels, {.verbose = 0})["accuracy"];
ch::Tensor scores = model.predict(images, {.verbose = 0});
check(history["val_loss"].size() == 2 && accuracy >= 0.0 && scores.shape() == ch::Shape{16, 10}, "functional model");
}

// The table of docs/reference/index.md.
void table() {
  const ch::Tensor x = ch::Tensor::of<float>({1, 2, 3, 4}, {2, 2}), y = ch::Tensor::of<float>({1, 0}, {2, 1});
  ch::SymbolicTensor a = ch::Input({2}, {.name = "a"}), b = ch::Input({2});
  ch::layers::Add layer;
  ch::SymbolicTensor sum = layer({a, b});
  ch::Model two({a, b}, {sum, ch::layers::Dense(1)(sum)});
  ch::Model named(ch::Symbols{{"a", a}, {"b", b}}, ch::layers::Dense(1)(sum));
  ch::Sequential known({ch::make<ch::InputLayer>(ch::Shape{4}), ch::layers::Dense(2)}), built({ch::layers::Dense(2)});
  built.build({ch::kUnknown, 4});
  check(known.count_params() == 10 && built.count_params() == 10, "models of known inputs");
  two.compile({.optimizer = "sgd", .loss = {"mse", "mse"}});
  two.fit({x, x}, {x, y}, {.verbose = 0});
  const ch::Tensor first = two.predict_element({{x, x}, {}}, {.verbose = 0})[0].leaf();
  check(first.to_vector<float>() == std::vector<float>{2, 4, 6, 8}, "several outputs");
  check(named.predict({{"a", x}, {"b", x}}, {.verbose = 0}).shape() == ch::Shape{2, 1}, "named inputs");

  ch::LayerHandle<ch::Sequential> model = ch::make<ch::Sequential>({ch::layers::Dense(8, {.name = "hidden"}), ch::layers::Dense(1)});
  model->compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  ch::History history = model->fit(x, y, {.batch_size = 32, .epochs = 2, .verbose = 0, .validation_data = {x, y}});
  check(model->evaluate(x, y, {.verbose = 0})["loss"] >= 0.0 && history["val_mae"].size() == 2, "evaluate");
  model->optimizer()->set_learning_rate(1e-4);
  model->get_layer("hidden")->set_trainable(false);
  check(model->trainable_variables().size() == 2 && model->layers().back()->built(), "frozen layer");
  auto step = ch::function([&](const ch::Tensor& value) { return model(value, {.training = true}) * 2.0; });
  const ch::Tensor doubled = step(x);
  std::cout << doubled << doubled.shape().back() << " " << ch::ops::mean(doubled).item<float>() << "\n";
  ch::plot_model(*model, {.to_file = "model.dot"});
  ch::Sequential wrapped({ch::layers::Dense(1)});
  wrapped.compile({.loss = ch::losses::LossFunctionWrapper(
                       [](const ch::Tensor& labels, const ch::Tensor& found) { return ch::ops::square(labels - found); })});
  wrapped.fit(x, y, {.verbose = 0});
}

void own_classes() {
  const ch::Tensor x = noise({32, 4}), y = ch::ops::sum(x, -1, ch::ops::keep_dims);
  ch::Sequential scaled({ch::make<Scale>(2.0), ch::layers::Dense(1)});
  scaled.compile({.optimizer = "adam", .loss = ch::make<Pinball>(0.9), .metrics = {"mae", ch::make<WithinTolerance>(0.2)}});
  const ch::History history = scaled.fit(x, y, {.epochs = 2, .verbose = 0});
  check(history.has("within_tolerance"), "own metric");
  Classifier classifier(2);
  classifier.compile({.optimizer = "sgd",
                      .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                      .metrics = {"accuracy"}});
  const ch::Tensor classes = ch::ops::cast(ch::ops::reshape(y, {-1}) > 2.0, ch::DType::Int32);
  const ch::History trained = classifier.fit(x, classes, {.epochs = 3, .verbose = 0, .callbacks = {ch::make<StopAt>(0.0)}});
  check(trained.epoch().size() == 1 && trained.has("accuracy"), "own model and callback");
}

void optimizer() {
const ch::Tensor x = noise({8, 4}), y = noise({8, 1});
ch::Sequential model({ch::layers::Dense(1)});
model(x);
ch::optimizers::Adam optimizer(ch::optimizers::schedules::CosineDecay(1e-3, 1000), {.clipnorm = 1.0});
ch::GradientTape tape;
const ch::Tensor loss = ch::ops::mean(ch::ops::square(model(x, {.training = true}) - y));
optimizer.apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
}

void data() {
const ch::Tensor x = noise({64, 3}), y = noise({64, 1});
ch::Dataset data = ch::datasets::from_tensor_slices(x, y)
                       .map([](ch::Tensor features, ch::Tensor label) { return std::tuple(features / 255.0, label); })
                       .shuffle(1000)
                       .batch(32)
                       .prefetch(2);
ch::Iterator iterator = data.iterator();
auto [features, label] = iterator.next<2>();
check(features.shape() == ch::Shape{32, 3} && label.shape() == ch::Shape{32, 1}, "dataset");
}

void tensors() {
ch::Variable w(ch::Tensor::of<float>({1, 2, 3}, {3}), {.name = "w"});
ch::GradientTape tape;
const ch::Tensor squares = ch::ops::sum(ch::ops::square(w));
const ch::Gradients gradients = tape.gradient(squares, std::vector<ch::Variable>{w});
w.assign_sub(0.1 * gradients[0].dense());
const std::vector<float> values = w.value().to_vector<float>();
check(values.size() == 3, "variable");
}

void saving() {
const ch::Tensor x = noise({4, 3});
ch::Sequential model({ch::make<Scale>(), ch::layers::Dense(2)});
model(x);
model.save("model.keras");
ch::Ref<ch::Model> loaded = ch::load_model("model.keras");
const ch::Tensor same = loaded->predict(x, {.verbose = 0});

// Fine-tuning: all but the last layer, frozen, under a new head.
ch::Model features(loaded->inputs(), loaded->layers().end()[-2]->output());
features.set_trainable(false);
check(same.to_vector<float>() == model.predict(x, {.verbose = 0}).to_vector<float>(), "saved model");
check(features.trainable_variables().empty(), "frozen model");
}

void summary() {
ch::summary::EventWriter writer("logs/mine");
for (std::int64_t step = 0; step < 3; ++step) writer.add_scalar("loss", 1.0 / (step + 1.0), step);
writer.close();
}

void cluster() {
const ch::Tensor x = noise({64, 3}), y = noise({64, 1});
ch::distribute::LocalCluster cluster({{"worker", 2}, {"ps", 1}});
ch::distribute::ParameterServerStrategy strategy(cluster.resolver());
auto scope = strategy.scope();
ch::Sequential model({ch::layers::Dense(1)});
model.compile({.optimizer = "sgd", .loss = "mse"});
model.fit(ch::DatasetCreator([&](const ch::InputContext& context) {
            return ch::datasets::from_tensor_slices(x, y)
                .shard(context.num_input_pipelines, context.input_pipeline_id)
                .repeat()
                .batch(8);
          }),
          {.epochs = 1, .verbose = 0, .steps_per_epoch = 4});
}

int main() {
  ch::set_random_seed(1);
  functional_model();
  table();
  own_classes();
  optimizer();
  data();
  tensors();
  saving();
  summary();
  cluster();
  std::cout << "all of it runs\n";
}
