#pragma once

#include <optional>
#include <string>

#include "cohort/variables/initializer.h"

namespace cohort::initializers {

struct STFTOptions {
  // "real" for cosines, "imag" for sines.
  std::string side = "real";
  // Window the frame is multiplied with: "hann", "hamming", "blackman", "bartlett", "boxcar", "cosine", "triang",
  // "nuttall", "blackmanharris" or "flattop"; none: all ones.
  std::optional<std::string> window = "hann";
  // "density" scales the window to length 1, "spectrum" to sum 1; none: not scaled.
  std::optional<std::string> scaling = "density";
  // A periodic window (as for spectral analysis) rather than a symmetric one.
  bool periodic = false;
};
COHORT_FIELDS(STFTOptions, side, window, periodic, scaling)

class STFTInitializer : public Initializer {
 public:
  explicit STFTInitializer(STFTOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Shape& shape, DType dtype) const override;

 private:
  STFTOptions options_;
};

// The kernel (frame, 1, frequencies) of a short-time Fourier transform made of a convolution: cosines or sines of
// frequencies / ((frequencies - 1) * 2), times the window.
struct STFT : Ref<STFTInitializer> {
  explicit STFT(STFTOptions options = {});
};

}  // namespace cohort::initializers
