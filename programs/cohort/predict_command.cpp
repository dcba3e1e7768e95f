#include "programs/cohort/predict_command.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/keras_archive.h"
#include "programs/cohort/model_file.h"
#include "programs/cohort/model_inputs.h"

namespace cohort::programs {
namespace {

struct PredictArguments {
  std::string model, inputs, outputs;
  std::int64_t batch_size = 32;
};

void write_outputs(const Element& outputs, const std::string& path) {
  Hdf5File file = Hdf5File::create_image(path);
  int number = 0;
  for (const Tensor& output : in_keras_order(outputs)) {
    file.write("output_" + std::to_string(number++), output);
  }
  write_file_atomically(path, file.image());
}

void predict(const PredictArguments& arguments) {
  if (!holds_model(arguments.model, format_to_read(arguments.model, "cohort predict"))) {
    throw invalid_argument("cohort predict", "--model must be a file with a whole model, not its weights alone",
                           {{"model", arguments.model}}, "Save the model to a .keras file.");
  }
  const Ref<Model> model = load_model(arguments.model, {.compile = false});
  const Element inputs = read_inputs(*model, Hdf5File::open(arguments.inputs));
  const Element outputs = model->predict_element(DataArgument(TensorArgument(inputs), {}),
                                                 {.batch_size = arguments.batch_size, .verbose = 0});
  write_outputs(outputs, arguments.outputs);
}

}  // namespace

void add_predict_command(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("predict", "Writes what a saved model makes of the inputs in a file");
  const auto arguments = std::make_shared<PredictArguments>();
  command->add_option("--model", arguments->model, "a .keras or .h5 file")->type_name("FILE")->required();
  command
      ->add_option("--inputs", arguments->inputs, "an HDF5 file with a dataset for each input: input_0, input_1, ...")
      ->type_name("FILE")
      ->required();
  command->add_option("--outputs", arguments->outputs, "the HDF5 file to write: output_0, output_1, ...")
      ->type_name("FILE")
      ->required();
  command->add_option("--batch-size", arguments->batch_size, "samples that are computed at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->footer(
      "Axis 0 of every dataset counts the samples. Inputs and outputs are numbered in the model's order, those of a "
      "dict\n"
      "by their keys. The file of outputs is replaced at once or not at all.");
  command->callback([arguments] { predict(*arguments); });
}

}  // namespace cohort::programs
