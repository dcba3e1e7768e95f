// Tables: numbers are normalized, strings looked up, categories encoded, all learned by adapt() and part of the model.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(21);
  constexpr std::int64_t kRows = 240;
  const ch::Tensor age = ops::random_uniform({kRows, 1}, 18, 80);
  const ch::Tensor income = ops::random_normal({kRows, 1}, 40000, 9000);
  const ch::Tensor number = ops::random_uniform({kRows}, 0, 3, ch::DType::Int32);
  std::vector<std::string> names;
  for (const std::int32_t n : number.to_vector<std::int32_t>())
    names.push_back(n == 0 ? "oslo" : n == 1 ? "rome" : "lima");
  const ch::Tensor city = ch::Tensor::of_strings(names, {kRows, 1});
  const ch::Tensor y = ops::reshape(ops::cast(ops::equal(number, 1.0), ch::DType::Float32), {-1, 1}) * 2.0 +
                       ops::cast(age > 50.0, ch::DType::Float32) + (income - 40000.0) / 9000.0;

  layers::Normalization normalize;
  normalize.adapt(income);
  const ch::Tensor normal = normalize(income);
  check(std::abs(ops::mean(normal).item<double>()) < 1e-3, "normalized numbers have mean 0");
  check(std::abs(ops::variance(normal).item<double>() - 1.0) < 1e-3, "and variance 1");
  layers::Discretization bins({.num_bins = 6});
  bins.adapt(age);
  check(bins->bin_boundaries()->size() == 5, "six bins have five boundaries");
  layers::StringLookup lookup;
  lookup.adapt(city);
  check(lookup.get_vocabulary().size() == 4 && lookup.get_vocabulary()[0] == "[UNK]", "three cities and the unknown");

  const ch::SymbolicTensor age_in = ch::Input({1}, {.name = "age"}), income_in = ch::Input({1}, {.name = "income"});
  const ch::SymbolicTensor city_in = ch::Input({1}, {.dtype = ch::DType::String, .name = "city"});
  const ch::SymbolicTensor features = layers::Concatenate()(
      {layers::CategoryEncoding(6, {.output_mode = "one_hot"})(bins(age_in)), normalize(income_in),
       layers::CategoryEncoding(lookup->vocabulary_size(), {.output_mode = "one_hot"})(lookup(city_in))});
  ch::Model model({age_in, income_in, city_in}, layers::Dense(1)(features));
  model.compile({.optimizer = ch::optimizers::Adam(5e-2), .loss = "mse"});
  const ch::History history =
      model.fit({{"age", age}, {"income", income}, {"city", city}}, y, {.batch_size = 16, .epochs = 20, .verbose = 0});
  check(history["loss"].back() < 0.15, "the raw table is learned: " + std::to_string(history["loss"].back()));

  model.save("tabular.keras");
  const ch::Ref<ch::Model> loaded = ch::load_model("tabular.keras");
  const ch::Tensor one = ch::Tensor::of<float>({50}, {1, 1}), pay = ch::Tensor::of<float>({50000}, {1, 1});
  const ch::Tensor place = ch::Tensor::of_strings({"rome"}, {1, 1});
  check(loaded->predict({one, pay, place}, {.verbose = 0}).item<float>() ==
            model.predict({one, pay, place}, {.verbose = 0}).item<float>(),
        "what was learned by adapt() is saved with the model");
}
