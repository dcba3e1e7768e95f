#pragma once

#include <optional>
#include <string>

#include "cohort/variables/initializer.h"

namespace cohort::initializers {

struct STFTOptions {
  std::string side = "real";  // "real" or "imag"
  std::optional<std::string> window = "hann";
  std::optional<std::string> scaling = "density";  // "density", "spectrum" or none
  bool periodic = false;
};

// The kernel (frame, 1, frequencies) of a short-time Fourier transform made of a convolution: cosines or sines of
// frequencies / ((frequencies - 1) * 2), times the window, which is scaled to length or sum 1.
class STFTInitializer : public Initializer {
 public:
  explicit STFTInitializer(STFTOptions options = {});
  std::string class_name() const override { return "STFT"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Shape& shape, DType dtype) const override;

 private:
  STFTOptions options_;
};

struct STFT : Ref<STFTInitializer> {
  explicit STFT(STFTOptions options = {}) : Ref(std::make_shared<STFTInitializer>(std::move(options))) {}
};

}  // namespace cohort::initializers
