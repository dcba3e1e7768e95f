#include "cohort/model/fit/fit_options.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {

bool ValidationFrequency::includes(std::int64_t epoch) const {
  if (every_ > 0) return epoch % every_ == 0;
  return std::find(epochs_.begin(), epochs_.end(), epoch) != epochs_.end();
}

void ValidationFrequency::check() const {
  if (epochs_.empty() && every_ <= 0) {
    throw invalid_argument("Model.fit", "validation_freq must be positive, or a list of epochs",
                           {{"validation_freq", every_}});
  }
}

}  // namespace cohort
