#include "cohort/autodiff/tape.h"
#include "cohort/callbacks/lambda_callback.h"
#include "cohort/model/model.h"
#include "cohort/saving/json/compile_json.h"
#include "cohort/saving/json/layer_json.h"
#include "tests/golden/checks.h"

namespace cohort::golden {
namespace {

void require_losses_and_metrics(const Json& value, bool loss) {
  if (value.is_string()) {
    const std::string name = value;
    const bool automatic = !loss && (name == "accuracy" || name == "acc" || name == "crossentropy" || name == "ce");
    if (!automatic && !(loss ? Loss::registry().has(name) : Metric::registry().has(name))) {
      throw Skipped{(loss ? "no loss " : "no metric ") + name};
    }
  } else if (value.is_structured() && !is_object_json(value)) {
    for (const Json& each : value) require_losses_and_metrics(each, loss);
  }
}

Ref<Model> make_model(Case& checked) {
  const Json config = checked.json("config"), compile_config = checked.json("compile_config");
  require_registered(config);
  require_registered(compile_config);
  require_losses_and_metrics(compile_config["loss"], true);
  require_losses_and_metrics(compile_config["metrics"], false);
  require_losses_and_metrics(compile_config["weighted_metrics"], false);
  Ref<Model> model = model_from_object(Json{{"class_name", checked.class_name()}, {"config", config}});
  model->compile(compile_from_json(compile_config));
  return model;
}

std::map<std::int64_t, double> class_weights(const Json& fit) {
  std::map<std::int64_t, double> weights;
  if (!fit.contains("class_weight")) return weights;
  for (const auto& [label, weight] : fit["class_weight"].items()) weights[std::stoll(label)] = weight;
  return weights;
}

Element head(const Element& element, std::int64_t count) {
  return element.map([count](const Tensor& tensor) { return tensor.to_host().rows(0, count).to(default_device()); });
}

// Loss and gradients of the first batch, before any update, in training mode.
void check_first_batch(Case& checked, Model& model, const Element& x, const Element& y, Element sample_weight) {
  const Json fit = checked.json("fit");
  const std::int64_t batch = fit["batch_size"];
  const Element first_x = head(x, batch), first_y = head(y, batch);
  if (const auto weights = class_weights(fit); !weights.empty()) {
    std::vector<float> values;
    for (const std::int64_t label : first_y.leaf().to_vector<std::int64_t>()) {
      values.push_back(static_cast<float>(weights.at(label)));
    }
    sample_weight = Tensor::of(values, {batch});
  } else if (!sample_weight.empty()) {
    sample_weight = head(sample_weight, batch);
  }
  GradientTape tape;
  const Element predicted = model.apply(first_x, {.training = true});
  const Tensor loss = model.compute_loss(first_x, first_y, predicted, sample_weight, /*training=*/true);
  checked.expect("first_batch/loss", loss);
  const Gradients gradients = tape.gradient(loss, model.trainable_variables());
  std::vector<Tensor> dense;
  for (const Gradient& gradient : gradients) dense.push_back(gradient.defined() ? gradient.dense() : Tensor());
  checked.expect_all("first_batch/gradients", dense);
}

void check_variables(Case& checked, const char* group, const Variables& variables) {
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (const std::string path = numbered(group, i); checked.has(path)) {
      const std::string name = checked.text_of(path, "name");
      checked.require(variables[i].name() == name, path + ": is called " + variables[i].name() + ", expected " + name);
    }
    values.push_back(read_now(variables[i]));
  }
  checked.expect_all(group, values);
}

void check_history(Case& checked, const History& history) {
  const Json keys = checked.json("history_keys");
  std::string seen, expected;
  for (const auto& [name, values] : history.history()) seen += " " + name;
  for (const Json& key : keys) expected += " " + key.get<std::string>();
  checked.require(seen == expected, "history:" + seen + ", expected" + expected);
  for (const auto& [name, values] : history.history()) {
    checked.expect("history/" + name, values, {static_cast<std::int64_t>(values.size())});
  }
}

}  // namespace

void check_training(Case& checked) {
  reset_layer_names();
  const Ref<Model> model = make_model(checked);
  const Json fit = checked.json("fit");
  const Element x = given_tree(checked, "x"), y = given_tree(checked, "y");
  const Element sample_weight = given_tree(checked, "sample_weight");
  const Element val_x = given_tree(checked, "val_x"), val_y = given_tree(checked, "val_y");
  const Element val_weight = given_tree(checked, "val_sample_weight");
  const std::vector<Tensor> initial = checked.given_all("initial_weights");
  model->set_weights(initial);
  check_first_batch(checked, *model, x, y, sample_weight);
  model->set_weights(initial);

  std::vector<double> running;
  const callbacks::LambdaCallback watch(
      {.on_train_batch_end = [&](std::int64_t, Logs& logs) { running.push_back(logs.at("loss")); }});
  FitOptions options{.batch_size = fit["batch_size"].get<std::int64_t>(),
                     .epochs = fit["epochs"].get<std::int64_t>(),
                     .verbose = 0,
                     .validation_split = fit.value("validation_split", 0.0),
                     .shuffle = false,
                     .class_weight = class_weights(fit),
                     .sample_weight = sample_weight,
                     .callbacks = {watch}};
  if (!val_x.empty()) options.validation_data = DataArgument(val_x, val_y, val_weight);
  const History history = model->fit(x, y, options);
  checked.expect("running_loss", running, {static_cast<std::int64_t>(running.size())});
  check_history(checked, history);
  check_variables(checked, "final_weights", model->weights());
  check_variables(checked, "final_optimizer", model->optimizer()->variables());

  const bool on_validation = checked.text("evaluated_on") == "val";
  const Element &seen_x = on_validation ? val_x : x, &seen_y = on_validation ? val_y : y;
  const Element predicted =
      model->predict_element(DataArgument(seen_x, {}), {.batch_size = options.batch_size, .verbose = 0});
  const std::vector<Tensor> predictions = predicted.flatten();
  const std::vector<std::string> members = checked.ordered_members("predictions");
  checked.require(predictions.size() == members.size(), "predictions: " + std::to_string(predictions.size()));
  for (std::size_t i = 0; i < std::min(predictions.size(), members.size()); ++i) {
    checked.expect("predictions/" + members[i], predictions[i]);
  }
  const Logs figures = model->evaluate(seen_x, seen_y, {.batch_size = options.batch_size, .verbose = 0});
  for (const auto& [name, value] : figures) checked.expect("evaluate/" + name, {value}, {});
}

}  // namespace cohort::golden
