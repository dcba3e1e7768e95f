#include "cohort/data/host_function.h"

#include <map>
#include <mutex>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

struct HostFunctions {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const HostFunction::Call>> by_name;
};

// Never destroyed: datasets in static storage may outlive any static table.
HostFunctions& host_functions() {
  static HostFunctions* all = new HostFunctions;
  return *all;
}

}  // namespace

HostFunction::HostFunction(std::string name, ElementSpec spec, std::shared_ptr<const Call> call)
    : name_(std::move(name)), spec_(std::move(spec)), leaves_(spec_.flatten()), call_(std::move(call)) {}

bool HostFunction::make_call_known(const std::string& name, Call call) {
  HostFunctions& all = host_functions();
  std::lock_guard lock(all.mutex);
  if (name.empty() || !all.by_name.emplace(name, std::make_shared<const Call>(std::move(call))).second) {
    throw Error(ErrorCode::AlreadyExists, "HostFunction", "a name may be registered once", {{"name", in_quotes(name)}});
  }
  return true;
}

HostFunction HostFunction::registered(const std::string& name, ElementSpec result_spec) {
  HostFunctions& all = host_functions();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  if (found == all.by_name.end()) {
    throw not_found("HostFunction", "a registered function is expected", {{"name", in_quotes(name)}},
                    "Register it with COHORT_HOST_FUNCTION in every program that uses it. Known names: " +
                        join(all.by_name, [](const auto& each) { return each.first; }) + ".");
  }
  return HostFunction(name, std::move(result_spec), found->second);
}

void HostFunction::run(const Tensors& arguments, Tensors& results, const ElementKey& key) const {
  (*call_)(arguments, results, key);
  if (results.size() != leaves_.size()) {
    throw invalid_argument("HostFunction " + in_quotes(name_), "as many results as declared are expected",
                           {{"declared", to_string(spec_)}, {"results", results.size()}});
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const bool fits = results[i].defined() && results[i].dtype() == leaves_[i].dtype &&
                      results[i].shape().compatible(leaves_[i].shape);
    if (!fits) {
      throw invalid_argument("HostFunction " + in_quotes(name_), "a result of the declared type and shape is expected",
                             {{"declared", leaves_[i]},
                              {"result " + std::to_string(i),
                               results[i].defined() ? results[i].spec().to_string() : std::string("none")}});
    }
    // What it makes without naming a device lies on the program's.
    if (!results[i].device().host_readable()) results[i] = results[i].to_host();
  }
}

}  // namespace cohort
