#include "cohort/data/unpack_data.h"

#include "cohort/core/error.h"

namespace cohort {

UnpackedData unpack_x_y_sample_weight(const Element& data) {
  if (data.kind() != Element::Kind::Tuple) return {data, {}, {}};
  if (data.size() == 0 || data.size() > 3) {
    throw invalid_argument("Model", "a batch must be x, (x, y) or (x, y, sample_weight)", {{"members", data.size()}},
                           "Put several inputs into a tuple of their own: ((a, b), y).");
  }
  return {data[0], data.size() > 1 ? data[1] : Element(), data.size() > 2 ? data[2] : Element()};
}

}  // namespace cohort
