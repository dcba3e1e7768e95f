#pragma once

#include "cohort/model/fit/progress.h"

namespace cohort::callbacks {

// The progress display as a callback, for who wants it before other callbacks: fit, evaluate and predict add none then.
struct ProgbarLogger : Ref<ProgressBar> {
  ProgbarLogger() : Ref(std::make_shared<ProgressBar>()) {}
};

}  // namespace cohort::callbacks
