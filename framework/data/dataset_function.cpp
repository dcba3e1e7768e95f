#include "cohort/data/dataset_function.h"

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/data/dataset.h"
#include "cohort/files/data_root.h"

namespace cohort {
namespace {

constexpr const char* kFunctionName = "function";
// Of a local function; it does not count in fingerprints: another run of the program numbers them anew.
constexpr const char* kLocalFunction = "local_function";

// Numbers of two processes must not be taken for one another.
const std::string& name_of_process() {
  static const std::string name = [] {
    std::random_device random;
    const std::uint64_t drawn = (std::uint64_t{random()} << 32) | random();
    return std::to_string(::getpid()) + "/" + std::to_string(drawn);
  }();
  return name;
}

}  // namespace

struct DatasetFunction::Known {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Body>> registered;
  // Kept as long as the process: bytes of a chain do not say when nobody will parse them any more.
  std::map<std::string, std::shared_ptr<const Body>> local;
  std::map<const Body*, std::string> names;  // of the local ones
};

// Never destroyed: datasets in static storage may outlive any static table.
DatasetFunction::Known& DatasetFunction::known() {
  static Known* all = new Known;
  return *all;
}

void DatasetFunction::take(Body body) { body_ = std::make_shared<const Body>(std::move(body)); }

bool DatasetFunction::make_known(const std::string& name, const DatasetFunction& function) {
  Body body = *function.body_;
  body.name = name;
  Known& all = known();
  std::lock_guard lock(all.mutex);
  if (name.empty() || !all.registered.emplace(name, std::make_shared<const Body>(std::move(body))).second) {
    throw Error(ErrorCode::AlreadyExists, "DatasetFunction", "a name may be registered once",
                {{"name", in_quotes(name)}});
  }
  return true;
}

DatasetFunction DatasetFunction::registered(const std::string& name) {
  Known& all = known();
  std::lock_guard lock(all.mutex);
  const auto found = all.registered.find(name);
  if (found == all.registered.end()) {
    throw not_found("DatasetFunction", "a registered function is expected", {{"name", in_quotes(name)}},
                    "Register it with COHORT_DATASET_FUNCTION in every program that uses it. Known names: " +
                        join(all.registered, [](const auto& each) { return each.first; }) + ".");
  }
  return DatasetFunction(found->second);
}

Dataset DatasetFunction::operator()(const Element& element, const char* who) const {
  if (body_->arguments) {
    const std::size_t tensors = element.flatten().size();
    if (tensors != *body_->arguments) {
      throw invalid_argument(who, "the function takes one argument for each tensor of an element",
                             {{"arguments", *body_->arguments}, {"tensors", tensors}});
    }
  }
  return body_->call(element);
}

void DatasetFunction::save_to(Attributes& attributes) const {
  attributes.set(kFunctionName, body_->name);
  if (!body_->name.empty()) return;
  Known& all = known();
  std::lock_guard lock(all.mutex);
  std::string& name = all.names[body_.get()];
  if (name.empty()) {
    name = name_of_process() + "/" + std::to_string(all.local.size());
    all.local.emplace(name, body_);
  }
  attributes.set(kLocalFunction, name);
}

DatasetFunction DatasetFunction::of(const char* who, const Attributes& attributes) {
  const DatasetFunction function = find(who, attributes);
  std::shared_ptr<const DataRoots> roots = data_roots_in_force();
  if (!roots) return function;
  // What it makes later, in whichever thread, is part of this chain.
  Body body = *function.body_;
  body.call = [call = std::move(body.call), roots = std::move(roots)](const Element& element) {
    const DataRootScope scope(roots);
    return call(element);
  };
  return DatasetFunction(std::make_shared<const Body>(std::move(body)));
}

DatasetFunction DatasetFunction::find(const char* who, const Attributes& attributes) {
  const auto name = attributes.get<std::string>(kFunctionName);
  if (!name.empty()) return registered(name);
  Known& all = known();
  std::lock_guard lock(all.mutex);
  const auto found = all.local.find(attributes.get<std::string>(kLocalFunction));
  if (found == all.local.end()) {
    throw failed_precondition(who, "a function that this process knows is expected",
                              {{"function", "a C++ callable of another process"}},
                              "Register it with COHORT_DATASET_FUNCTION, and pass DatasetFunction::registered(name).");
  }
  return DatasetFunction(found->second);
}

}  // namespace cohort
