#include "cohort/callbacks/csv_logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/callbacks/driven_callback.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort::callbacks {
namespace {

TEST(CSVLogger, GoesOnInAFileThatIsThere) {
  const test::TemporaryFolder folder;
  DrivenModel driven;
  driven.drive(CSVLogger(folder.file("log.csv")), val_losses({0.5, 0.25}));
  driven.drive(CSVLogger(folder.file("log.csv"), {.append = true}), val_losses({0.125}));
  EXPECT_EQ(test::content_of(folder.path() / "log.csv"),
            "epoch,loss,val_loss\r\n0,1.0,0.5\r\n1,1.0,0.25\r\n0,1.0,0.125\r\n");
  driven.drive(CSVLogger(folder.file("log.csv")), val_losses({0.75}));
  EXPECT_EQ(test::content_of(folder.path() / "log.csv"), "epoch,loss,val_loss\r\n0,1.0,0.75\r\n");
}

TEST(CSVLogger, SaysWhatIsWrong) {
  EXPECT_THAT(test::error_of([] { CSVLogger("x.csv", {.separator = ", "}); }),
              testing::HasSubstr("CSVLogger: separator must be one character"));
  EXPECT_NO_THROW(CSVLogger("x.csv", {.separator = "→"}));
  DrivenModel driven;
  EXPECT_THAT(test::error_of([&] { driven.drive(CSVLogger("/no/such/folder/log.csv"), val_losses({1.0})); }),
              testing::HasSubstr("filename=/no/such/folder/log.csv"));
}

}  // namespace
}  // namespace cohort::callbacks
