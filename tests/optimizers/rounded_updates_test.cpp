#include <gtest/gtest.h>

#include "cohort/core/dispatch.h"
#include "cohort/core/update_layout.h"
#include "cohort/ops/cast.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

// One update over variables of these sizes, with copies of them in a half type.
class RoundedUpdate {
 public:
  RoundedUpdate(const std::string& op, const std::vector<std::int64_t>& sizes, DType half) {
    const auto count = static_cast<int>(sizes.size());
    const int slots = op == "AdamUpdate" ? 2 : 0;
    Tensors gradients, handles;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Shape shape{sizes[i]};
      const auto seed = static_cast<unsigned>(i);
      variables_.emplace_back(test::spread_tensor(shape, -1e6, 1e6, DType::Float32, seed));
      copies_.emplace_back(Tensor::full(shape, 5, half), VariableOptions{.dtype = half});
      gradients.push_back(test::spread_tensor(shape, -1, 1, DType::Float32, 20 + seed));
    }
    for (const Variable& variable : variables_) handles.push_back(variable.handle());
    for (int s = 0; s < slots; ++s) {
      for (const std::int64_t size : sizes) {
        slots_.emplace_back(Tensor::full({size}, 0.5));
        handles.push_back(slots_.back().handle());
      }
    }
    handles.insert(handles.end(), gradients.begin(), gradients.end());
    for (const Variable& copy : copies_) handles.push_back(copy.handle());
    handles.push_back(Tensor::scalar(0.1));
    if (op == "AdamUpdate") handles.push_back(Tensor::scalar(3, DType::Int64));
    Attributes attributes = UpdateLayout::attributes(slots, false, count);
    UpdateLayout::add_rounded(find_op(op), attributes, half);
    run_op_all(op, handles, attributes);
  }

  const Variables& variables() const { return variables_; }
  const Variables& copies() const { return copies_; }

 private:
  Variables variables_, slots_, copies_;
};

TEST(RoundedUpdates, WriteWhatACastOfTheVariableGives) {
  for (const char* op : {"SGDUpdate", "AdamUpdate"}) {
    for (const DType half : {DType::BFloat16, DType::Float16}) {
      // Below, at and above what a thread has, and more variables than a launch takes.
      std::vector<std::int64_t> sizes{1, 3, 4, 7, 1024, 1031, 20000};
      while (sizes.size() < 150) sizes.push_back(5);
      const RoundedUpdate update(op, sizes, half);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Tensor expected = ops::cast(read_now(update.variables()[i]), half);
        EXPECT_EQ(read_now(update.copies()[i]).to_vector<float>(), expected.to_vector<float>())
            << op << " " << half << " " << sizes[i];
      }
    }
  }
}

}  // namespace
}  // namespace cohort
