#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/recurrent/lstm.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/model_json.h"

namespace cohort {
namespace {

// A model inside another that is called with a mask made of symbols.
TEST(NestedMask, IsWrittenReadAndUsed) {
  set_random_seed(4);
  const auto reader =
      make<Sequential>({make<InputLayer>(Shape{3, 1}), layers::LSTM(4, {.return_sequences = true}), layers::LSTM(2)});
  const SymbolicTensor words = Input({3, 1}, {.name = "words"}),
                       keep = Input({3}, {.dtype = DType::Bool, .name = "keep"});
  const Symbols read = reader->apply_symbols(Symbols(Tree<SymbolicTensor>::dict({{"inputs", words}, {"mask", keep}})));
  Model model({words, keep}, read);
  const Ref<Model> again = model_from_json(model_to_json(model));
  EXPECT_EQ(model_to_json(*again), model_to_json(model));
  EXPECT_NE(model_to_json(model).find("\"kwargs\":{\"mask\":{\"class_name\":\"__keras_tensor__\""), std::string::npos);
  again->set_weights(model.get_weights());
  const auto predicted = [](Model& of, const std::vector<float>& x, const std::vector<bool>& mask) {
    const Tensor given = Tensor::of<bool>({mask[0], mask[1], mask[2], mask[3], mask[4], mask[5]}, {2, 3});
    return of.predict(std::vector<Tensor>{Tensor::of(x, {2, 3, 1}), given}, {.verbose = 0}).to_vector<float>();
  };
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, others = {1, 2, -9, 4, 8, 7};
  const std::vector<bool> whole(6, true), cut = {true, true, false, true, false, false};
  EXPECT_EQ(predicted(*again, x, cut), predicted(model, x, cut));
  EXPECT_NE(predicted(model, x, whole), predicted(model, x, cut));
  // What stands in steps that do not count makes no difference.
  EXPECT_EQ(predicted(model, others, cut), predicted(model, x, cut));
  EXPECT_NE(predicted(model, others, whole), predicted(model, x, whole));
}

}  // namespace
}  // namespace cohort
