#include "programs/cohort/summary_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/keras_archive.h"
#include "programs/cohort/model_file.h"
#include "programs/cohort/weights_listing.h"

namespace cohort::programs {
namespace {

struct SummaryArguments {
  std::string file;
  SummaryOptions options;
};

void summarize(const SummaryArguments& arguments) {
  if (holds_model(arguments.file, format_to_read(arguments.file, "cohort summary"))) {
    load_model(arguments.file)->summary(arguments.options);
  } else {
    std::cout << weights_listing(Hdf5File::open(arguments.file)) << std::flush;
  }
}

}  // namespace

void add_summary_command(CLI::App& app, int&) {
  CLI::App* command =
      app.add_subcommand("summary", "Prints the layers of a saved model, or what a file of weights holds");
  const auto arguments = std::make_shared<SummaryArguments>();
  command->add_option("file", arguments->file, "a .keras, .h5 or .weights.h5 file")->type_name("FILE")->required();
  command->add_flag("--expand-nested", arguments->options.expand_nested, "the layers of models inside it, too");
  command->add_flag("--show-trainable", arguments->options.show_trainable, "whether each layer is trained");
  command->add_option("--line-length", arguments->options.line_length, "characters of a line of a model's table")
      ->check(CLI::Range(40, 1000));
  command->footer("A file of weights is listed as plain lines of path, shape and type, with the optimizer's state.");
  command->callback([arguments] { summarize(*arguments); });
}

}  // namespace cohort::programs
