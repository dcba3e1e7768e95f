#include "cohort/model/model_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/layers/layers.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/load_model.h"
#include "cohort/saving/model_json.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A format as a user would add one: the architecture as text.
void save_json(const Model& model, const std::string& path, bool) { write_file_atomically(path, model_to_json(model)); }
Ref<Model> load_json(const std::string& path, const LoadModelOptions& options) {
  return model_from_json(read_file(path), {.compile = options.compile});
}
const bool json_registered =
    register_model_format({.ending = ".architecture.json", .save = save_json, .load = load_json});

class ModelFormatTest : public testing::Test {
 protected:
  ModelFormatTest() : model_({make<InputLayer>(Shape{3}), layers::Dense(2, {.name = "top"})}) {}
  Sequential model_;
  const test::TemporaryFolder folder_;
};

TEST_F(ModelFormatTest, ARegisteredFormatIsSavedAndLoadedByItsEnding) {
  ASSERT_TRUE(json_registered);
  const std::string path = folder_.file("model.architecture.json");
  model_.save(path);
  EXPECT_EQ(model_to_json(*load_model(path)), model_to_json(model_));
  EXPECT_THROW(register_model_format({.ending = ".architecture.json"}), Error);
}

TEST_F(ModelFormatTest, AnEndingThatCannotDoWhatIsAskedNamesThoseThatCan) {
  EXPECT_THAT(error_of([&] { model_.save_weights(folder_.file("model.architecture.json")); }),
              AllOf(HasSubstr("Model.save_weights: the path must end in .h5, .hdf5 or .weights.h5"),
                    Not(HasSubstr("architecture.json,"))));
  EXPECT_THAT(error_of([&] { load_model(folder_.file("model.graph")); }),
              HasSubstr("load_model: the path must end in .architecture.json, .h5, .hdf5 or .keras"));
  EXPECT_THAT(error_of([&] { model_.export_graph(folder_.file("model.keras")); }),
              HasSubstr("Model.export_graph: the path must end in .graph"));
}

TEST_F(ModelFormatTest, AWholeModelUnderTheEndingOfWeightsIsALegacyFileAsInKeras) {
  const std::string path = folder_.file("whole.weights.h5");
  model_.save(path);
  EXPECT_TRUE(Hdf5File::open(path).has_attribute("", "model_config"));
  EXPECT_EQ(model_to_json(*load_model(path)), model_to_json(model_));
  model_.save_weights(path);
  EXPECT_FALSE(Hdf5File::open(path).has_attribute("", "model_config"));
}

}  // namespace
}  // namespace cohort
