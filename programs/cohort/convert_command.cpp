#include "programs/cohort/convert_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cohort/core/error.h"
#include "cohort/saving/keras_archive.h"
#include "programs/cohort/model_file.h"

namespace cohort::programs {
namespace {

struct ConvertArguments {
  std::string from, to;
  bool no_compile = false;
};

void convert(const ConvertArguments& arguments) {
  constexpr const char* kWho = "cohort convert";
  const ModelFormat& from = format_to_read(arguments.from, kWho);
  const ModelFormat& to = format_to_write(arguments.to, kWho);
  if (same_format(from, to)) {
    throw invalid_argument(kWho, "the two files must be of different formats",
                           {{"from", arguments.from}, {"to", arguments.to}}, "Copy the file instead.");
  }
  if (!holds_model(arguments.from, from)) {
    throw invalid_argument(kWho,
                           "the first file must hold a whole model: weights alone do not say which layers they are of",
                           {{"from", arguments.from}}, "Give the .keras or .h5 file that the model was saved to.");
  }
  const Ref<Model> model = load_model(arguments.from, {.compile = !arguments.no_compile});
  if (to.save) {
    model->save(arguments.to);
  } else {
    model->save_weights(arguments.to);
  }
}

}  // namespace

void add_convert_command(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("convert", "Writes a saved model in another of Keras's file formats");
  const auto arguments = std::make_shared<ConvertArguments>();
  command->add_option("from", arguments->from, "a whole model: a .keras or .h5 file")->type_name("FILE")->required();
  command->add_option("to", arguments->to, "a .keras, .h5 or .weights.h5 file; one that is there is replaced")
      ->type_name("FILE")
      ->required();
  command->add_flag("--no-compile", arguments->no_compile, "leave out loss, metrics, optimizer and its state");
  command->footer(
      "The file is replaced at once or not at all. Weights alone cannot be converted: they do not say which layers "
      "they\n"
      "are of.");
  command->callback([arguments] { convert(*arguments); });
}

}  // namespace cohort::programs
