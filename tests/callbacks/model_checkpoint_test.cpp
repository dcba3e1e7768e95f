#include "cohort/callbacks/model_checkpoint.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"

namespace cohort::callbacks {
namespace {

TEST(ModelCheckpoint, RefusesPathsItCouldNotWriteLater) {
  EXPECT_NO_THROW(ModelCheckpoint("{epoch}.keras"));
  EXPECT_NO_THROW(ModelCheckpoint("{epoch}.weights.h5", {.save_weights_only = true}));
  for (const char* path : {"x.h5", "x.weights.h5", "x"}) EXPECT_THROW(ModelCheckpoint{path}, Error) << path;
  for (const char* path : {"x.h5", "x.keras"}) {
    EXPECT_THROW(ModelCheckpoint(path, {.save_weights_only = true}), Error) << path;
  }
}

}  // namespace
}  // namespace cohort::callbacks
