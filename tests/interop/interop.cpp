// What the Python tests ask for: models and logs written by Cohort, and files of Keras read by it.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cohort/callbacks/callbacks.h"
#include "cohort/core/random.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/sequential.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/exported_graph.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/keras_archive.h"
#include "cohort/summary/event_writer.h"
#include "tests/interop/data_files.h"
#include "tests/interop/data_utilities.h"
#include "tests/interop/images.h"
#include "tests/interop/remote_reads.h"
#include "tests/interop/resolvers.h"

namespace ch = cohort;

namespace {

ch::Tensor waves(const ch::Shape& shape, double step) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
  return ch::Tensor::of(values, shape);
}

ch::Tensor labels(std::int64_t count, int classes) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 7 % 5) % classes;
  return ch::Tensor::of(values, {count});
}

// Saves a trained model with what it computes and how it goes on: x, outputs, weights, optimizer, resume.
void save_with_expectations(ch::Model& model, const std::vector<ch::Tensor>& x, const ch::Tensor& y,
                            const std::string& stem) {
  const ch::TensorArgument inputs = x.size() == 1 ? ch::TensorArgument(x[0]) : ch::TensorArgument(x);
  model.fit(inputs, y, {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
  model.save(stem + ".keras");
  model.save(stem + ".h5");
  model.save_weights(stem + ".weights.h5");
  ch::Hdf5File io = ch::Hdf5File::create(stem + ".io.h5");
  const auto write_all = [&io](const std::string& group, const std::vector<ch::Tensor>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) io.write(group + "/" + std::to_string(i), values[i]);
  };
  write_all("x", x);
  write_all("outputs", {model.predict(inputs, {.verbose = 0})});
  write_all("weights", model.get_weights());
  std::vector<ch::Tensor> state;
  for (const ch::Variable& variable : model.optimizer()->variables()) state.push_back(read_now(variable));
  write_all("optimizer", state);
  const double loss = model.train_on_batch(inputs, y).at("loss");
  write_all("resume/y", {y});
  io.write("resume/loss", ch::Tensor::scalar(loss, ch::float64));
  write_all("resume/weights", model.get_weights());
  io.close();
}

void save(const std::string& folder) {
  ch::set_random_seed(3);
  ch::Sequential stack({ch::layers::Rescaling(0.5), ch::layers::Flatten(),
                        ch::layers::Dense(8, {.activation = "relu", .name = "first"}),
                        ch::layers::Dense(6, {.activation = "gelu"}), ch::layers::Dense(3)});
  stack.compile({.optimizer = ch::optimizers::Adam(1e-2),
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  save_with_expectations(stack, {waves({20, 2, 3}, 0.7)}, labels(20, 3), folder + "/sequential");

  const ch::SymbolicTensor left = ch::Input({5}, {.name = "left"}), right = ch::Input({4}, {.name = "right"});
  const ch::layers::Dense shared(4, {.activation = "tanh"});
  const ch::SymbolicTensor joined = ch::layers::Concatenate()(
      {shared(right), ch::layers::Dense(7, {.activation = "relu"})(left), shared(shared(right))});
  ch::Model graph({left, right}, ch::layers::Dense(1)(joined), {.name = "graph"});
  graph.compile({.optimizer = ch::optimizers::SGD(0.05, {.momentum = 0.9}),
                 .loss = ch::losses::MeanSquaredError(),
                 .metrics = {"mae"}});
  save_with_expectations(graph, {waves({12, 5}, 0.3), waves({12, 4}, 0.9)}, waves({12, 1}, 1.1),
                         folder + "/functional");

  const ch::SymbolicTensor words = ch::Input({6, 3}, {.name = "words"}), start = ch::Input({4}, {.name = "start"});
  const auto read = ch::layers::LSTM(4, {.return_state = true})
                        .with_states(ch::layers::Bidirectional(ch::layers::GRU(3, {.return_sequences = true}))(words));
  const ch::SymbolicTensor written =
      ch::layers::LSTM(4, {.return_sequences = true})(words, {.initial_state = read.states});
  const ch::SymbolicTensor spoken = ch::layers::RNN({ch::layers::GRUCell(4), ch::layers::GRUCell(5)})(
      ch::layers::TimeDistributed(ch::layers::Dense(3))(written));
  const ch::SymbolicTensor last = ch::layers::SimpleRNN(4, {.dropout = 0.0})(words, {.initial_state = {start}});
  ch::Model recurrent({words, start}, ch::layers::Dense(1)(ch::layers::Concatenate()({spoken, last})));
  recurrent.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = ch::losses::MeanSquaredError()});
  save_with_expectations(recurrent, {waves({12, 6, 3}, 0.3), waves({12, 4}, 0.9)}, waves({12, 1}, 1.1),
                         folder + "/recurrent");

  // Operators and ops on symbols, and arguments of calls by name.
  namespace ops = ch::ops;
  const ch::SymbolicTensor steps = ch::Input({4, 6}, {.name = "steps"});
  ch::SymbolicTensor x = 1.0 - (steps + 2.0) * steps / 3.0;
  x = x * ch::Tensor::of(std::vector<float>{1, 2, 3, 4, 5, 6}, {6}) - ops::mean(x, 1, ops::keep_dims);
  x = ch::layers::MultiHeadAttention(2, 3)(x, ops::tanh(x), {.use_causal_mask = true});
  x = ops::concatenate({x, ops::where(steps > 0.0, steps, 0.5)}, -1);
  x = ops::strided_slice(x, {{}, {.begin = 1}, {.begin = 0, .end = 10, .step = 2}});
  x = ops::reshape(ops::transpose(x, {0, 2, 1}), {-1, 15});
  x = ops::softmax(ops::clip(x, -3.0, 3.0)) + ops::relu(x);
  const std::vector<ch::SymbolicTensor> parts = ops::split(ops::layer_normalization(x), {6}, 1);
  x = ops::concatenate({ops::gelu(parts[0]), ops::silu(ops::cumsum(parts[1], 1))}, 1) + ops::normalize(x);
  const ch::SymbolicTensor levels = ops::cast(ops::digitize(steps, {-0.5, 0.25}), ch::DType::Float32);
  x = ops::concatenate({x, ops::tensordot(levels, waves({6, 4, 2}, 0.7), {1, 2}, {1, 0})}, 1);
  x = ops::clip(x, waves({17}, 0.4) - 2.0, waves({17}, 0.4) + 2.0);
  ch::Model operations(steps, ch::layers::Dense(1)(x), {.name = "operations"});
  operations.compile(
      {.optimizer = ch::optimizers::SGD(0.05), .loss = ch::losses::MeanSquaredError(), .metrics = {"mae"}});
  save_with_expectations(operations, {waves({12, 4, 6}, 0.3)}, waves({12, 1}, 1.1), folder + "/operations");
}

// A model that computes in code. Its files follow the attributes' names: some sort before "layers", some after.
class Branches : public ch::Model {
 public:
  Branches()
      : ch::Model({.name = "branches"}),
        second_(track("second", ch::layers::Dense(2))),
        first_(track("first", ch::layers::Dense(3, {.activation = "tanh"}))),
        hidden_(track("_hidden", ch::layers::Dense(2))),
        inner_(track("inner", ch::make<ch::Sequential>({ch::layers::Dense(4), ch::layers::Dense(3)}))),
        shout_(track("Shout", ch::layers::Dense(2))) {}
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext&) override {
    return shout_(inner_(hidden_(second_(first_(x)))));
  }

 private:
  ch::layers::Dense second_, first_, hidden_;
  ch::LayerHandle<ch::Sequential> inner_;
  ch::layers::Dense shout_;
};

// Saves the weights of a model in code, and reads those that another file holds.
void branches(const std::string& folder) {
  ch::set_random_seed(6);
  const ch::Tensor x = waves({6, 4}, 0.7);
  ch::Hdf5File io = ch::Hdf5File::create(folder + "/branches.io.h5");
  const auto write = [&](const std::string& group, ch::Model& model) {
    io.write(group + "/outputs/0", model(x));
    const std::vector<ch::Tensor> weights = model.get_weights();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      io.write(group + "/weights/" + std::to_string(i), weights[i]);
    }
  };
  io.write("x", x);
  const auto model = ch::make<Branches>(), reader = ch::make<Branches>();
  (*model)(x);
  (*reader)(x);
  model->save_weights(folder + "/cohort.weights.h5");
  write("saved", *model);
  reader->load_weights(folder + "/keras.weights.h5");
  write("loaded", *reader);
  io.close();
}

std::vector<ch::Tensor> read_all(const ch::Hdf5File& file, const std::string& group) {
  std::vector<ch::Tensor> values;
  for (int i = 0; i < file.numbered_members(group); ++i) values.push_back(file.read(group + "/" + std::to_string(i)));
  return values;
}

void write_all(ch::Hdf5File& file, const std::string& group, const std::vector<ch::Tensor>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) file.write(group + "/" + std::to_string(i), values[i]);
}

ch::TensorArgument one_or_all(const std::vector<ch::Tensor>& values) {
  return values.size() == 1 ? ch::TensorArgument(values[0]) : ch::TensorArgument(values);
}

// Loads a model file and writes what it computes for the x of another file, its weights and optimizer, and how it goes
// on.
void predict(const std::string& model_file, const std::string& io_file, const std::string& out_file) {
  const ch::Ref<ch::Model> model = ch::load_model(model_file);
  const ch::Hdf5File io = ch::Hdf5File::open(io_file);
  const ch::TensorArgument x = one_or_all(read_all(io, "x"));
  ch::Hdf5File out = ch::Hdf5File::create(out_file);
  write_all(out, "outputs", model->predict_element(ch::DataArgument(x.element(), {}), {.verbose = 0}).flatten());
  write_all(out, "weights", model->get_weights());
  if (model->compiled()) {
    std::vector<ch::Tensor> state;
    for (const ch::Variable& variable : model->optimizer()->variables()) state.push_back(read_now(variable));
    write_all(out, "optimizer", state);
  }
  if (io.exists("resume/y")) {
    const double loss = model->train_on_batch(x, one_or_all(read_all(io, "resume/y"))).at("loss");
    out.write("resume/loss", ch::Tensor::scalar(loss, ch::float64));
    write_all(out, "resume/weights", model->get_weights());
  }
  out.close();
}

// Loads a model file and writes what it computes for the x of another file, with the seconds that both take.
void infer(const std::string& model_file, const std::string& io_file, const std::string& out_file) {
  const ch::Tensor x = ch::Hdf5File::open(io_file).read("x/0");
  ch::Hdf5File out = ch::Hdf5File::create(out_file);
  auto began = std::chrono::steady_clock::now();
  const auto write_seconds = [&](const std::string& name) {
    const auto now = std::chrono::steady_clock::now();
    out.write("seconds/" + name, ch::Tensor::scalar(std::chrono::duration<double>(now - began).count(), ch::float64));
    began = now;
  };
  const ch::Ref<ch::Model> model = ch::load_model(model_file, {.compile = false});
  write_seconds("load");
  const ch::Tensor outputs = model->predict(x, {.verbose = 0});
  write_seconds("predict");
  write_all(out, "outputs", {outputs});
  out.close();
}

// Loads a model file and writes another.
void convert(const std::string& from, const std::string& to) {
  const ch::Ref<ch::Model> model = ch::load_model(from);
  to.ends_with(".weights.h5") ? model->save_weights(to) : model->save(to);
}

// Exports a model's graph, with what the model computes for the x of another file.
void export_model(const std::string& model_file, const std::string& io_file, const std::string& graph_file,
                  const std::string& out_file) {
  const ch::Ref<ch::Model> model = ch::load_model(model_file);
  model->export_graph(graph_file);
  const ch::TensorArgument x = one_or_all(read_all(ch::Hdf5File::open(io_file), "x"));
  ch::Hdf5File out = ch::Hdf5File::create(out_file);
  write_all(out, "outputs", model->predict_on_batch_element(x.element()).flatten());
  out.close();
}

// Runs an exported graph.
void serve(const std::string& graph_file, const std::string& io_file, const std::string& out_file) {
  const ch::ExportedModel model = ch::load_exported(graph_file);
  const ch::TensorArgument x = one_or_all(read_all(ch::Hdf5File::open(io_file), "x"));
  ch::Hdf5File out = ch::Hdf5File::create(out_file);
  write_all(out, "outputs", model.serve_element(x.element()).flatten());
  out.close();
}

// Loads a compiled .keras file and trains it batch by batch on x and y of another file; writes the loss of each batch.
void curve(const std::string& model_file, const std::string& io_file, const std::string& out_file) {
  const ch::Ref<ch::Model> model = ch::load_model(model_file);
  const ch::Hdf5File io = ch::Hdf5File::open(io_file);
  const ch::Tensor x = io.read("x"), y = io.read("y");
  const std::int64_t batch = io.int_attribute("", "batch");
  std::vector<double> losses;
  for (std::int64_t first = 0; first + batch <= x.shape()[0]; first += batch) {
    losses.push_back(model->train_on_batch(x.rows(first, batch), y.rows(first, batch)).at("loss"));
  }
  ch::Hdf5File out = ch::Hdf5File::create(out_file);
  out.write("loss", ch::Tensor::of(losses, {static_cast<std::int64_t>(losses.size())}));
  out.close();
}

// Everything an EventWriter writes, and the logs of a training with all that the callback shows.
void events(const std::string& folder) {
  ch::summary::EventWriter writer(folder + "/plain");
  for (int step = 0; step < 5; ++step) {
    writer.add_scalar("curve", 0.5 * step, step);
    writer.add_histogram("spread", waves({100}, 0.1 + step), step);
  }
  writer.add_text("note", "# Title\nsome *text*", 2);
  writer.add_images("pictures", waves({5, 6, 8, 3}, 0.01), 3, {.max_outputs = 4, .description = "*waves*"});
  writer.add_image("grey", ch::Tensor::of(std::vector<std::uint8_t>{0, 50, 100, 150, 200, 250}, {2, 3}), 3);
  writer.add_audio("tone", waves({400, 2}, 0.2), 8000, 1);
  writer.add_hparams({{"units", 16}, {"activation", "relu"}, {"bias", true}}, {{"hparam/accuracy", 0.75}});
  writer.close();

  ch::set_random_seed(4);
  ch::Sequential model({ch::layers::Dense(4, {.activation = "relu"}), ch::layers::Dense(3)});
  model.compile({.optimizer = ch::optimizers::SGD(0.05),
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const ch::Tensor x = waves({24, 5}, 0.7), y = labels(24, 3);
  model.fit(x, y,
            {.batch_size = 8,
             .epochs = 2,
             .verbose = 0,
             .validation_data = {x, y},
             .callbacks = {ch::callbacks::TensorBoard({.log_dir = folder + "/fit",
                                                       .histogram_freq = 1,
                                                       .write_images = true,
                                                       .update_freq = "batch",
                                                       .profile_batch = {2, 3}})}});

  const ch::SymbolicTensor image = ch::Input({6, 6, 1}, {.name = "image"}),
                           words = ch::Input({4, 3}, {.name = "words"});
  const ch::SymbolicTensor seen = ch::layers::Flatten()(ch::layers::Conv2D(3, 3, {.activation = "relu"})(image));
  ch::Model functional({image, words},
                       ch::layers::Dense(3)(ch::layers::Concatenate()({seen, ch::layers::LSTM(4)(words)})));
  functional.compile({.optimizer = ch::optimizers::Adam(0.01),
                      .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true})});
  functional.fit(
      {waves({8, 6, 6, 1}, 0.3), waves({8, 4, 3}, 0.4)}, labels(8, 3),
      {.epochs = 1, .verbose = 0, .callbacks = {ch::callbacks::TensorBoard({.log_dir = folder + "/functional"})}});
}

// Trains a compiled .keras file on x and y of another file under the TensorBoard callback.
void board(const std::string& model_file, const std::string& io_file, const std::string& folder) {
  const ch::Ref<ch::Model> model = ch::load_model(model_file);
  const ch::Hdf5File io = ch::Hdf5File::open(io_file);
  model->fit(io.read("x"), io.read("y"),
             {.batch_size = io.int_attribute("", "batch"),
              .epochs = io.int_attribute("", "epochs"),
              .verbose = 0,
              .validation_data = {io.read("val_x"), io.read("val_y")},
              .shuffle = false,
              .callbacks = {ch::callbacks::TensorBoard({.log_dir = folder,
                                                        .histogram_freq = 1,
                                                        .write_images = true,
                                                        .write_steps_per_second = true,
                                                        .update_freq = io.int_attribute("", "update_freq"),
                                                        .profile_batch = 2})}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (data_files(arguments)) {
    } else if (arguments.size() > 1 && arguments[0] == "data") {
      ch::interop::print_data_utility({arguments.begin() + 1, arguments.end()});
    } else if (arguments.size() > 1 && arguments[0] == "remote") {
      ch::interop::print_remote_reads({arguments.begin() + 1, arguments.end()});
    } else if (arguments.size() > 1 && arguments[0] == "kubernetes") {
      ch::interop::print_kubernetes({arguments.begin() + 1, arguments.end()});
    } else if (arguments.size() > 1 && arguments[0] == "hostlists") {
      ch::interop::print_hostlists({arguments.begin() + 1, arguments.end()});
    } else if (!arguments.empty() && arguments[0] == "slurm") {
      ch::interop::print_slurm({arguments.begin() + 1, arguments.end()});
    } else if (arguments.size() == 3 && arguments[0] == "sent") {
      ch::interop::print_sent_records({arguments.begin() + 1, arguments.end()});
    } else if (arguments.size() > 1 && arguments[0] == "images" &&
               ch::interop::images({arguments.begin() + 1, arguments.end()})) {
    } else if (arguments.size() == 2 && arguments[0] == "save") {
      save(arguments[1]);
    } else if (arguments.size() == 2 && arguments[0] == "branches") {
      branches(arguments[1]);
    } else if (arguments.size() == 4 && arguments[0] == "predict") {
      predict(arguments[1], arguments[2], arguments[3]);
    } else if (arguments.size() == 4 && arguments[0] == "infer") {
      infer(arguments[1], arguments[2], arguments[3]);
    } else if (arguments.size() == 3 && arguments[0] == "convert") {
      convert(arguments[1], arguments[2]);
    } else if (arguments.size() == 5 && arguments[0] == "export") {
      export_model(arguments[1], arguments[2], arguments[3], arguments[4]);
    } else if (arguments.size() == 4 && arguments[0] == "serve") {
      serve(arguments[1], arguments[2], arguments[3]);
    } else if (arguments.size() == 4 && arguments[0] == "curve") {
      curve(arguments[1], arguments[2], arguments[3]);
    } else if (arguments.size() == 4 && arguments[0] == "board") {
      board(arguments[1], arguments[2], arguments[3]);
    } else if (arguments.size() == 2 && arguments[0] == "events") {
      events(arguments[1]);
    } else {
      std::fprintf(
          stderr,
          "usage: interop save DIR | branches DIR | predict MODEL IO OUT | infer MODEL IO OUT | convert FROM TO | "
          "export MODEL IO GRAPH OUT | serve GRAPH IO OUT | curve MODEL IO OUT | board MODEL IO DIR | events DIR | "
          "npy FILE | npz FILE | csv FILE | examples FILE COMPRESSION | write_examples FILE COMPRESSION | "
          "data UTILITY ... | remote ADDRESS ... | sent ROOT ADDRESS | kubernetes ... | hostlists LIST ... | slurm "
          "JOB=N ... | "
          "images decode REQUESTS OUT | images folder DIR OPTIONS OUT\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
