#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/variables/variable.h"

namespace cohort {

// What a file gives to some variables: checked and read first, written once all of it is known to fit.
class WeightPlan {
 public:
  // Reads the dataset at `path` for a variable, in its shape and type; throws DataLoss naming `who`.
  void add(const Hdf5File& file, const std::string& path, const Variable& variable, const std::string& who);
  // Adds what `add` adds, or nothing of it where that throws: `failed` is then called with the reason.
  void attempt(const std::function<void(WeightPlan&)>& add, const std::function<void(const Error&)>& failed);
  void write() const;
  std::size_t size() const { return assignments_.size(); }

 private:
  struct Assignment {
    Variable variable;
    Tensor value;
  };
  std::vector<Assignment> assignments_;
};

// The values of a variable's type, from a file that may hold them wider or narrower.
Tensor converted_for(const Tensor& value, DType dtype, const std::string& who);

}  // namespace cohort
