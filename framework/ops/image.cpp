#include "cohort/ops/image.h"

#include <algorithm>
#include <array>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/core/text.h"

namespace cohort::ops {
namespace {

constexpr std::array kInterpolations = {"bilinear", "nearest", "bicubic", "lanczos3", "lanczos5", "area"};
constexpr std::array kFillModes = {"constant", "nearest", "reflect", "wrap"};

template <std::size_t N>
bool among(const std::array<const char*, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_images(const OpCall& call, int input) {
  call.check(call.rank(input) == 4 && is_floating(call.dtype(input)),
             "images must be floating, with 4 axes (batch, height, width, channels)", {{"images", call.spec(input)}});
}

OpDef& resize_op(const char* name) {
  return register_op(name).attr("interpolation", "bilinear").attr("antialias", false);
}

// x -> images of size (height, width).
[[maybe_unused]] OpDef& resize_forward =
    resize_op("Resize")
        .inputs(1)
        .infer([](const OpCall& call) -> Specs {
          check_images(call, 0);
          check_interpolation(call.name(), call.attr<std::string>("interpolation"));
          const auto height = call.attr<std::int64_t>("height"), width = call.attr<std::int64_t>("width");
          call.check(height > 0 && width > 0, "the new size must be positive", {{"height", height}, {"width", width}});
          const Shape& x = call.shape(0);
          call.check(x[1] != 0 && x[2] != 0, "images must not be empty", {{"images.shape", x}});
          return {{call.dtype(0), {x[0], height, width, x[3]}}};
        })
        .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
          return {run_op("ResizeGrad", {dy, call.input(0)}, call.attributes())};
        });

// (dy, like) -> dx: every output's share goes back to the inputs it was made of.
[[maybe_unused]] OpDef& resize_backward = resize_op("ResizeGrad")
                                              .inputs(2)
                                              .infer([](const OpCall& call) { return same_as(call.spec(1)); })
                                              .gradient([](const OpCall& call, const Tensor& dx) -> Tensors {
                                                return {run_op("Resize", {dx}, call.attributes()), {}};
                                              });

void check_transform(const OpCall& call) {
  check_images(call, 0);
  const Shape& transform = call.shape(1);
  call.check(call.dtype(1) == DType::Float32 && transform.rank() == 2 && transform[1] == 8 &&
                 (transform[0] == 1 || transform[0] == kUnknown || call.shape(0)[0] == kUnknown ||
                  transform[0] == call.shape(0)[0]),
             "transform must be float32 with 8 numbers for each image, or for all",
             {{"transform", call.spec(1)}, {"images", call.spec(0)}});
  const std::string interpolation = call.attr<std::string>("interpolation");
  call.check(interpolation == "bilinear" || interpolation == "nearest", "interpolation must be 'bilinear' or 'nearest'",
             {{"interpolation", interpolation}});
  const std::string fill_mode = call.attr<std::string>("fill_mode");
  call.check(among(kFillModes, fill_mode), "fill_mode must be 'constant', 'nearest', 'reflect' or 'wrap'",
             {{"fill_mode", fill_mode}});
}

OpDef& affine_op(const char* name) {
  return register_op(name)
      .attr("interpolation", "bilinear")
      .attr("fill_mode", "constant")
      .attr("fill_value", 0.0)
      .inputs(2)
      .infer([](const OpCall& call) {
        check_transform(call);
        return same_as(call.spec(0));
      });
}

// (images, transform) -> images
[[maybe_unused]] OpDef& affine_forward =
    affine_op("AffineTransform").gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("AffineTransformGrad", {dy, call.input(1)}, call.attributes()), {}};
    });

// (dy, transform) -> dx; linear, so what it is the gradient of has no constant part.
[[maybe_unused]] OpDef& affine_backward =
    affine_op("AffineTransformGrad").gradient([](const OpCall& call, const Tensor& dx) -> Tensors {
      Attributes attributes = call.attributes();
      attributes.set("fill_value", AttributeValue(0.0));
      return {run_op("AffineTransform", {dx, call.input(1)}, attributes), {}};
    });

}  // namespace

void check_interpolation(const std::string& who, const std::string& interpolation) {
  if (among(kInterpolations, interpolation)) return;
  throw invalid_argument(who,
                         "interpolation must be 'bilinear', 'nearest', 'bicubic', 'lanczos3', 'lanczos5' or 'area'",
                         {{"interpolation", in_quotes(interpolation)}});
}

Tensor resize(const Tensor& images, std::int64_t height, std::int64_t width, const ResizeOptions& options) {
  return run_op("Resize", {images},
                {{"height", height},
                 {"width", width},
                 {"interpolation", options.interpolation},
                 {"antialias", options.antialias}});
}

Tensor affine_transform(const Tensor& images, const Tensor& transform, const AffineTransformOptions& options) {
  return run_op(
      "AffineTransform", {images, transform},
      {{"interpolation", options.interpolation}, {"fill_mode", options.fill_mode}, {"fill_value", options.fill_value}});
}

}  // namespace cohort::ops
