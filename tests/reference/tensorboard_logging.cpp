// TensorBoard: the callback in fit, figures and images of one's own by an EventWriter, a CSV file beside them.
#include <cohort/cohort.h>

#include <filesystem>
#include <fstream>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

// Bytes of the event files in a folder.
std::uintmax_t event_bytes(const std::string& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) bytes += entry.file_size();
  }
  return bytes;
}

int main() {
  std::filesystem::remove_all("logs");
  ch::set_random_seed(22);
  const ch::Tensor x = ops::random_normal({64, 4});
  const ch::Tensor y = ops::sum(x, -1, ops::keep_dims);
  ch::Sequential model({ch::layers::Dense(4, {.activation = "relu"}), ch::layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  model.fit(
      x, y,
      {.epochs = 3,
       .verbose = 0,
       .validation_split = 0.25,
       .callbacks = {ch::callbacks::TensorBoard({.log_dir = "logs/run", .histogram_freq = 1, .update_freq = "batch"}),
                     ch::callbacks::CSVLogger("log.csv")}});
  check(event_bytes("logs/run/train") > 1000, "training has events: scalars, histograms, the graph");
  check(event_bytes("logs/run/validation") > 100, "validation has its own run");

  std::ifstream csv("log.csv");
  std::string header, line;
  std::getline(csv, header);
  check(header.starts_with("epoch,loss,mae,val_loss,val_mae"), "the CSV's header: " + header);
  int lines = 0;
  while (std::getline(csv, line)) ++lines;
  check(lines == 3, "a line for each epoch");

  ch::summary::EventWriter writer("logs/mine");
  for (std::int64_t step = 0; step < 5; ++step)
    writer.add_scalar("loss", 1.0 / (1.0 + static_cast<double>(step)), step);
  writer.flush();
  const std::uintmax_t scalars = event_bytes("logs/mine");
  writer.add_histogram("weights", model.get_layer(0)->get_weights().front(), 0);
  writer.add_image("gradient", ops::broadcast_to(ops::linspace(0, 1, 16), {16, 16}), 0);
  writer.add_text("notes", "A *small* run.", 0);
  writer.add_hparams({{"units", 4}, {"optimizer", "adam"}}, {{"mae", 0.5}});
  writer.close();
  check(scalars > 0 && event_bytes("logs/mine") > scalars + 200, "what was added is in the file");

  const ch::Tensor buckets = ch::summary::histogram(x, 10);
  check(buckets.shape() == ch::Shape({10, 3}) && ops::sum(ops::take_at(buckets, 2, 1)).item<double>() == 256.0,
        "a histogram counts every value");
}
