#include <algorithm>
#include <filesystem>

#include "cohort/saving/json/compile_json.h"
#include "cohort/saving/json/layer_json.h"
#include "cohort/saving/load_model.h"
#include "cohort/saving/model_json.h"
#include "tests/golden/checks.h"
#include "tests/golden/scratch_folder.h"

namespace cohort::golden {
namespace {

void expect_variables(Case& checked, const std::string& group, const Variables& variables) {
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string path = group + "/" + std::to_string(i);
    if (checked.has(path)) {
      const std::string expected = checked.text_of(path, "path");
      // How many scopes stand before an optimizer's state depends on who built it.
      checked.require(variables[i].path() == expected || expected.ends_with("/" + variables[i].path()),
                      path + ": its path is " + variables[i].path() + ", expected " + expected);
    }
    values.push_back(read_now(variables[i]));
  }
  checked.expect_all(group, values);
}

void expect_tree(Case& checked, const std::string& group, const Element& seen) {
  const std::vector<Tensor> leaves = seen.flatten();
  const std::vector<std::string> members = checked.ordered_members(group);
  checked.require(leaves.size() == members.size(), group + ": " + std::to_string(leaves.size()) + " results");
  for (std::size_t i = 0; i < std::min(leaves.size(), members.size()); ++i) {
    checked.expect(group + "/" + members[i], leaves[i]);
  }
}

// Where two configs begin to differ: ".config.layers.2.config.units: 3, expected 4".
std::string first_difference(const Json& seen, const Json& expected) {
  if (seen.is_structured() && seen.type() == expected.type()) {
    for (const auto& [key, value] : expected.items()) {
      const bool there = seen.is_array() ? std::stoul(key) < seen.size() : seen.contains(key);
      if (!there) continue;
      const Json& mine = seen.is_array() ? seen[std::stoul(key)] : seen[key];
      if (!same_config(mine, value)) return "." + key + first_difference(mine, value);
    }
  }
  return ": " + excerpt(seen) + ", expected " + excerpt(expected);
}

void expect_json(Case& checked, const char* what, const Json& seen, const Json& expected) {
  if (same_config(seen, expected)) return;
  checked.fail(std::string(what) + " differs" + first_difference(seen, expected));
}

// A file of weights alone belongs to the architecture that the case tells.
Ref<Model> loaded(Case& checked, const std::string& format, const std::string& path) {
  if (format != "weights.h5") return load_model(path);
  const Json compile_config = checked.json("compile_config");
  Ref<Model> model = model_from_json(checked.text("model_json"), {.compile = false});
  if (!compile_config.empty()) model->compile(compile_from_json(compile_config));
  model->load_weights(path);
  return model;
}

// What a file holds: dataset paths with their shapes. Keras also keeps the seeds of layers that draw random numbers.
std::vector<std::string> datasets(const Hdf5File& file, const std::string& group = "") {
  std::vector<std::string> found;
  for (const std::string& member : file.members(group)) {
    const std::string path = group.empty() ? member : group + "/" + member;
    if (file.is_group(path)) {
      const std::vector<std::string> below = datasets(file, path);
      found.insert(found.end(), below.begin(), below.end());
    } else if (path.find("seed_generator/") == std::string::npos) {
      const bool state = path.starts_with("optimizer_weights/");  // its scopes differ
      found.push_back((state ? member : path) + " " + file.spec(path).shape.to_string());
    }
  }
  return found;
}

// Written again, the model has the layout of Keras's file and comes back with the same bits.
void check_written(Case& checked, Model& model, const std::string& format, const std::string& original) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/again." + format;
  if (format == "weights.h5") {
    model.save_weights(path);
  } else {
    model.save(path);
  }
  if (format != "keras") {
    std::vector<std::string> seen = datasets(Hdf5File::open(path)), expected = datasets(Hdf5File::open(original));
    std::sort(seen.begin(), seen.end());
    std::sort(expected.begin(), expected.end());
    checked.require(seen == expected, format + ": other datasets are written than Keras writes");
  }
  const Ref<Model> again = loaded(checked, format, path);
  const auto bits = [](const Variables& variables) {
    std::vector<std::vector<double>> values;
    for (const Variable& variable : variables) values.push_back(read_now(variable).to_vector<double>());
    return values;
  };
  checked.require(bits(again->weights()) == bits(model.weights()), format + ": weights change when written and read");
  if (model.compiled()) {
    checked.require(bits(again->optimizer()->variables()) == bits(model.optimizer()->variables()),
                    format + ": the optimizer changes when written and read");
  }
  checked.require(model_to_json(*again) == model_to_json(model), format + ": the config changes when written and read");
}

void check_file(Case& checked, const std::string& format, const std::string& path) {
  reset_layer_names();
  const Json compile_config = checked.json("compile_config");
  const Ref<Model> model = loaded(checked, format, path);
  expect_json(checked, "config", layer_to_json(*model)["config"], checked.json("config"));
  expect_json(checked, "model_json", layer_to_json(*model), checked.json("model_json"));
  expect_variables(checked, "weights", model->weights());
  const Element x = given_tree(checked, "x");
  expect_tree(checked, "outputs", model->predict_element(DataArgument(x, {}), {.verbose = 0}));
  checked.require(model->compiled() == !compile_config.empty(), format + ": compiled or not");
  if (!model->compiled()) return check_written(checked, *model, format, path);
  expect_json(checked, "compile_config", compile_to_json(model->compile_options()), compile_config);
  expect_variables(checked, "optimizer", model->optimizer()->variables());
  check_written(checked, *model, format, path);
  if (!checked.has("resume/y")) return;
  const Logs logs = model->train_on_batch(x, given_tree(checked, "resume/y", "y"));
  checked.expect("resume/loss", {logs.at("loss")}, {});
  expect_variables(checked, "resume/weights", model->weights());
}

}  // namespace

void check_saved(Case& checked) {
  const std::filesystem::path folder = std::filesystem::path(checked.file().name()).parent_path();
  const Json files = checked.json("files");
  checked.require(!files.empty(), "a case has at least one file");
  for (const auto& [format, name] : files.items()) {
    try {
      check_file(checked, format, (folder / name.get<std::string>()).string());
    } catch (const Error& error) {
      checked.fail(format + ": " + error.what());
    }
  }
}

}  // namespace cohort::golden
