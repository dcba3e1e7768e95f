#include "cohort/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include "cohort/cuda/program_headers.h"
#include "cohort/kernels/functors.h"
#include "tests/support/error_of.h"

namespace cohort::cuda {
namespace {

using Names = std::vector<std::string>;

const Names kFloating = {"Half", "BFloat16", "float", "double"};
const Names kIntegers = {"unsigned char", "signed char", "int", "long long"};

Names types_of(fn::Types types) {
  Names names;
  if (types != fn::Types::Bool) names = kFloating;
  if (types == fn::Types::Number || types == fn::Types::All) {
    names.insert(names.end(), kIntegers.begin(), kIntegers.end());
  }
  if (types == fn::Types::Bool || types == fn::Types::All) names.push_back("bool");
  return names;
}

std::string compile(const std::string& body) {
  return Nvrtc::instance().compile(
      "#include \"cohort/kernels/element_bits.h\"\n#include \"cohort/kernels/functors.h\"\n"
      "using namespace cohort;\nusing namespace cohort::bits;\n" +
          body,
      program_headers(), 90);
}

TEST(Nvrtc, CompilesEveryFunctorForEveryTypeItTakes) {
  std::string text;
  int count = 0;
  auto add = [&](const std::string& functor, fn::Types types, int operands, bool is_test) {
    for (const std::string& type : types_of(types)) {
      const std::string result = is_test ? "bool" : type;
      text += "extern \"C\" __global__ void f" + std::to_string(count++) + "(const " + type + "* x, " + result +
              "* y) {\n  const int i = threadIdx.x;\n  y[i] = narrowed<" + result + ">(fn::" + functor +
              "{}(widened(x[i])" + (operands == 2 ? ", widened(x[i + 1])" : "") + "));\n}\n";
    }
  };
#define COHORT_ROW(Name, function, types, ...) add(#Name, fn::Types::types, 1, false);
  COHORT_UNARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) add(#Name, fn::Types::types, 1, true);
  COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) add(#Name, fn::Types::types, 2, false);
  COHORT_BINARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) add(#Name, fn::Types::types, 2, true);
  COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
  EXPECT_GT(count, 250);
  EXPECT_GT(compile(text).size(), 100000u);
}

TEST(Nvrtc, SaysWhatIsWrongWithAProgram) {
  const std::string error = test::error_of([] { compile("__global__ void f() { no_such_thing(); }"); });
  EXPECT_NE(error.find("no_such_thing"), std::string::npos) << error;
  EXPECT_NE(error.find("identifier"), std::string::npos) << error;
}

TEST(SharedLibrary, SaysWhatIsMissingAndWhoNeedsIt) {
  const std::string error = test::error_of([] { SharedLibrary("libnosuchthing.so.7", "some kernels"); });
  EXPECT_TRUE(error.starts_with("NotFound")) << error;
  EXPECT_NE(error.find("libnosuchthing.so.7 is expected, which some kernels need"), std::string::npos) << error;
  for (const char* folder : {"those of the loader", "/usr/local/cuda/lib64", "LD_LIBRARY_PATH"}) {
    EXPECT_NE(error.find(folder), std::string::npos) << error;
  }
}

TEST(SharedLibrary, SaysHowToInstallWhatIsMissing) {
  const std::string error = test::error_of([] { SharedLibrary("libcudnn.so.999", "convolutions"); });
  EXPECT_NE(error.find("libcudnn.so.999 is expected, which convolutions need"), std::string::npos) << error;
  EXPECT_NE(error.find("nvidia-cudnn-cu13"), std::string::npos) << error;
}

}  // namespace
}  // namespace cohort::cuda
