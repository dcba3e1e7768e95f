#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cohort/callbacks/tensorboard.h"
#include "cohort/files/atomic_file.h"
#include "cohort/model/model.h"
#include "cohort/saving/json/compile_json.h"
#include "cohort/saving/json/layer_json.h"
#include "tests/golden/checks.h"
#include "tests/golden/event_log.h"
#include "tests/golden/scratch_folder.h"

namespace cohort::golden {
namespace {

callbacks::TensorBoardOptions board_options(const Json& given, const std::string& folder) {
  callbacks::TensorBoardOptions options{.log_dir = folder};
  for (const auto& [name, value] : given.items()) {
    if (name == "histogram_freq") {
      options.histogram_freq = value;
    } else if (name == "write_graph") {
      options.write_graph = value;
    } else if (name == "write_images") {
      options.write_images = value;
    } else if (name == "write_steps_per_second") {
      options.write_steps_per_second = value;
    } else if (name == "update_freq") {
      options.update_freq = value.is_string() ? callbacks::UpdateFrequency(value.get<std::string>())
                                              : callbacks::UpdateFrequency(value.get<std::int64_t>());
    } else if (name == "profile_batch") {
      options.profile_batch = value.is_array() ? callbacks::ProfileBatch(value[0].get<std::int64_t>(), value[1])
                                               : callbacks::ProfileBatch(value.get<std::int64_t>());
    } else if (name == "embeddings_freq") {
      options.embeddings_freq = value;
    } else if (name == "embeddings_metadata" && value.is_string()) {
      options.embeddings_metadata = value.get<std::string>();
    } else if (name == "embeddings_metadata" && value.is_object()) {
      options.embeddings_metadata = value.get<std::map<std::string, std::string>>();
    } else if (!value.is_null()) {
      throw Skipped{"no option " + name};
    }
  }
  return options;
}

template <class T>
std::string listed_text(const T& values) {
  std::string text;
  for (const auto& value : values) {
    if constexpr (requires { value.to_string(); }) {
      text += " " + value.to_string();
    } else {
      text += " " + std::to_string(value);
    }
  }
  return text;
}

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return text;
}

void flatten_numbers(const Json& tree, std::vector<double>& numbers) {
  if (!tree.is_array()) return numbers.push_back(tree.is_number() ? tree.get<double>() : std::nan(""));
  for (const Json& branch : tree) flatten_numbers(branch, numbers);
}

void compare_numbers(Case& checked, const std::string& where, const LoggedTag& seen, const Json& expected) {
  std::vector<double> ours, theirs;
  for (const auto& values : seen.values) ours.insert(ours.end(), values.begin(), values.end());
  flatten_numbers(expected, theirs);
  checked.expect_close(where, ours, theirs);
}

void compare_logged_tag(Case& checked, const std::string& where, const LoggedTag& seen, const Json& expected) {
  const auto same = [&](const char* key, const std::string& ours, const std::string& theirs) {
    checked.require(ours == theirs, where + ": " + key + " " + ours + ", expected " + theirs);
  };
  same("plugin", seen.plugin, expected["plugin"]);
  same("plugin_content_hex", hexadecimal(seen.plugin_content), expected["plugin_content_hex"]);
  same("kind", seen.kind, expected["kind"]);
  same("dtype", seen.dtype, expected["dtype"]);
  same("data_class", seen.data_class == 0 ? "DATA_CLASS_UNKNOWN" : "another", expected["data_class"]);
  same("metadata_count", std::to_string(seen.metadata_count), std::to_string(expected["metadata_count"].get<int>()));
  std::vector<Shape> shapes;
  for (const Json& sizes : expected["shapes"]) {
    Shape& shape = shapes.emplace_back();
    for (const Json& size : sizes) shape.push_back(size.get<std::int64_t>());
  }
  same("shapes", listed_text(seen.shapes), listed_text(shapes));
  same("steps", listed_text(seen.steps), listed_text(expected["steps"].get<std::vector<std::int64_t>>()));
  const bool timing = where.ends_with("steps_per_second");
  if (!timing && !expected["values"].empty()) compare_numbers(checked, where, seen, expected["values"]);
}

// Images are compared by their pixels, with the files that Keras wrote.
void compare_images(Case& checked, const std::string& where, const LoggedTag& seen, const LoggedTag& expected) {
  for (std::size_t i = 0; i < std::min(seen.strings.size(), expected.strings.size()); ++i) {
    const auto &ours = seen.strings[i], &theirs = expected.strings[i];
    if (ours.size() != theirs.size() || ours[0] != theirs[0] || ours[1] != theirs[1]) {
      checked.fail(where + ": images of another size");
      return;
    }
    for (std::size_t k = 2; k < ours.size(); ++k) {
      const std::vector<std::uint8_t> left = decode_png(ours[k]), right = decode_png(theirs[k]);
      const bool close = std::equal(left.begin(), left.end(), right.begin(), right.end(),
                                    [](int a, int b) { return std::abs(a - b) <= 1; });
      checked.require(close, where + ": pixels differ");
    }
  }
}

void compare_logged_runs(Case& checked, const std::map<std::string, LoggedRun>& seen, const Json& expected,
                         const std::map<std::string, LoggedRun>& files_of_keras) {
  for (const auto& [name, run] : seen) {
    checked.require(expected.contains(name), "run " + name + ": not expected");
    checked.require(run.files == 1 && run.file_versions == std::vector<std::string>{"brain.Event:2"},
                    "run " + name + ": one file that begins with its version is expected");
  }
  for (const auto& [name, run] : expected.items()) {
    if (!seen.contains(name)) {
      checked.fail("run " + name + ": missing");
      continue;
    }
    const auto& tags = seen.at(name).tags;
    for (const auto& [tag, logged] : tags) {
      checked.require(run["tags"].contains(tag), "run " + name + ": tag " + tag + " not expected");
    }
    for (const auto& [tag, wanted] : run["tags"].items()) {
      const std::string where = "run " + name + ": tag " + tag;
      if (!tags.contains(tag)) {
        checked.fail(where + " missing");
        continue;
      }
      compare_logged_tag(checked, where, tags.at(tag), wanted);
      const auto keras_run = files_of_keras.find(name);
      if (wanted["plugin"] == "images" && keras_run != files_of_keras.end()) {
        compare_images(checked, where, tags.at(tag), keras_run->second.tags.at(tag));
      }
    }
  }
}

}  // namespace

void check_tensorboard(Case& checked) {
  const std::filesystem::path folder = checked.folder();
  const Json all = Json::parse(read_file((folder / "expected.json").string()));
  const Json& expected = all.at(checked.name());
  const ScratchFolder scratch;

  reset_layer_names();
  const Json config = checked.json("config"), compile_config = checked.json("compile_config");
  require_registered(config);
  require_registered(compile_config);
  const Ref<Model> model = model_from_object(Json{{"class_name", checked.class_name()}, {"config", config}});
  model->compile(compile_from_json(compile_config));
  model->set_weights(checked.given_all("initial_weights"));
  const Element x = given_tree(checked, "x"), y = given_tree(checked, "y");
  const History history =
      model->fit(x, y,
                 {.batch_size = checked.integer("batch_size"),
                  .epochs = checked.integer("epochs"),
                  .verbose = 0,
                  .validation_data = {given_tree(checked, "val_x", "x"), given_tree(checked, "val_y", "y"), {}},
                  .shuffle = false,
                  .callbacks = {callbacks::TensorBoard(board_options(checked.json("options"), scratch.path()))}});
  for (const auto& [name, values] : history.history()) {
    checked.expect("history/" + name, values, {static_cast<std::int64_t>(values.size())});
  }
  checked.expect_all("final_weights", model->get_weights());

  std::map<std::string, LoggedRun> files_of_keras;
  if (const auto logs = folder / checked.name(); std::filesystem::exists(logs)) {
    files_of_keras = read_event_logs(logs.string());
  }
  compare_logged_runs(checked, read_event_logs(scratch.path()), expected["runs"], files_of_keras);
}

}  // namespace cohort::golden
