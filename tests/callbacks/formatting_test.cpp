#include "cohort/callbacks/formatting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/error.h"

namespace cohort::callbacks {
namespace {

TEST(FormatPath, FillsFields) {
  const Logs counts{{"epoch", 3}}, logs{{"val_loss", 0.12345}, {"acc", 1.0}};
  EXPECT_EQ(format_path("ckpt/{epoch:02d}.keras", counts, logs, "X"), "ckpt/03.keras");
  EXPECT_EQ(format_path("{epoch}-{val_loss:.2f}", counts, logs, "X"), "3-0.12");
  EXPECT_EQ(format_path("{val_loss}{acc}", counts, logs, "X"), "0.123451.0");
  EXPECT_EQ(format_path("{epoch:4d}|{val_loss:08.3f}|{acc:.1e}", counts, logs, "X"), "   3|0000.123|1.0e+00");
  EXPECT_EQ(format_path("{{epoch}}", counts, logs, "X"), "{epoch}");
  EXPECT_EQ(format_path("{epoch!r}{acc!s}", counts, logs, "X"), "31.0");
  EXPECT_EQ(format_path("{{{epoch:+d}}}", counts, logs, "X"), "{+3}");
  EXPECT_EQ(format_path("plain", counts, logs, "X"), "plain");
}

TEST(FormatPath, RefusesWhatItCannotFill) {
  const Logs counts{{"epoch", 3}}, logs{{"loss", 0.5}};
  for (const char* bad : {"{epoch", "epoch}", "{val_loss}", "{}", "{loss:d}", "{epoch:.1d}", "{epoch:s}", "{epoch!r:3}",
                          "{epoch!x}", "{epoch.real}", "{0}", "{loss:.2f", "{loss:9999f}"}) {
    EXPECT_THROW(format_path(bad, counts, logs, "ModelCheckpoint"), Error) << bad;
  }
  try {
    format_path("{val_loss:.2f}.keras", counts, logs, "ModelCheckpoint");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("ModelCheckpoint: a field of a path names a figure that is logged. Received: "
                                   "filepath={val_loss:.2f}.keras, field=val_loss. Known figures: epoch, loss."));
  }
}

}  // namespace
}  // namespace cohort::callbacks
