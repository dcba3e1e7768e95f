#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/data/element.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/json/object_json.h"

namespace cohort::golden {

// Thrown where a case needs a class that is not there yet: the only reason to leave a case out.
struct Skipped {
  std::string reason;
};

// One case of a fixture file: what it gives, what it expects, and how far what was computed differs. It keeps a list of
// every dataset that was read or compared, so that a case cannot pass with one forgotten.
class Case {
 public:
  // `folder` is where the file lies, with others beside it.
  Case(const Hdf5File& file, std::string name, std::filesystem::path folder);

  const std::string& name() const { return name_; }
  const Hdf5File& file() const { return *file_; }
  const std::filesystem::path& folder() const { return folder_; }

  // Attributes of the case.
  std::string text(const std::string& attribute) const;
  Json json(const std::string& attribute) const;
  std::int64_t integer(const std::string& attribute, std::int64_t otherwise = 0) const;
  std::string class_name() const { return text("class_name"); }
  // `arguments` where there are any, else `config`: what an object is made from.
  Json arguments() const;

  // Datasets and groups below the case.
  bool has(const std::string& path) const;
  int count(const std::string& group) const;
  // Members of a group in their order: by number, or by the attribute `order`.
  std::vector<std::string> ordered_members(const std::string& group) const;
  std::string text_of(const std::string& path, const std::string& attribute) const;
  std::int64_t integer_of(const std::string& path, const std::string& attribute, std::int64_t otherwise = 0) const;

  // A dataset that is given, on the default device (strings: on the host).
  Tensor given(const std::string& path);
  std::vector<Tensor> given_all(const std::string& group);
  // Compares a result with a dataset: equal shapes, and |seen - expected| <= atol + rtol * |expected| everywhere.
  void expect(const std::string& path, const Tensor& seen);
  void expect(const std::string& path, const std::vector<double>& seen, const Shape& shape);
  // The same for numbers that the case holds elsewhere, as many of them; `what` is their name in a failure.
  void expect_close(const std::string& what, const std::vector<double>& seen, const std::vector<double>& expected);
  // Compares the members of a group with as many results.
  void expect_all(const std::string& group, const std::vector<Tensor>& seen);
  // Says that a dataset has nothing to be compared with, and why the case is right all the same.
  void ignore(const std::string& path) { used_.insert(path); }

  void fail(std::string problem) { problems_.push_back(std::move(problem)); }
  void require(bool good, const std::string& problem) {
    if (!good) fail(problem);
  }
  // Adds a problem for every dataset that nobody looked at.
  void check_complete();
  // Adds a problem for every result whose bits differ from those of the same case computed another time; `how` says in
  // which way that was.
  void expect_same_bits(const Case& other, const std::string& how);
  const std::vector<std::string>& problems() const { return problems_; }
  // Largest difference seen in units of the tolerance.
  double worst() const { return worst_; }

 private:
  std::string at(const std::string& path) const { return name_ + "/" + path; }
  void collect_unused(const std::string& path, std::vector<std::string>& unused) const;

  const Hdf5File* file_;
  std::string name_;
  std::filesystem::path folder_;
  double rtol_, atol_, worst_ = 0.0;
  std::set<std::string> used_, compared_;
  std::map<std::string, std::vector<double>> seen_;
  std::vector<std::string> problems_;
};

// Data of a case, given as one tensor, a list or a dict: what its attribute `structure` says of `like` (`name` itself).
Element given_tree(Case& checked, const std::string& name, const std::string& like = {});

// Throws Skipped when a class that the config names, at any depth, is not registered.
void require_registered(const Json& config);
// True when two configs say the same: numbers to rounding, without what Keras only notes.
bool same_config(const Json& seen, const Json& expected);
// Compares a config that was written with Keras's, key by key; `arguments` may add to it.
void expect_config(Case& checked, const Configurable& object);

// Makes the object of a case through its family's registry.
template <class T>
std::shared_ptr<T> make_object(Case& checked) {
  const std::string name = checked.class_name();
  if (!T::registry().has(name)) throw Skipped{"no class " + name};
  const Json arguments = checked.arguments();
  require_registered(arguments);
  std::shared_ptr<T> object = T::registry().make(name);
  read_config(*object, arguments);
  expect_config(checked, *object);
  return object;
}

}  // namespace cohort::golden
