#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {

// Makers of one family of objects (layers, losses, ...), found by Keras's class name ("MeanSquaredError"), its
// function-like aliases ("mean_squared_error", "mse") or, for a user's class, "package>Name".
template <class T>
class Registry {
 public:
  // Makes an object with default arguments.
  using Maker = std::function<std::shared_ptr<T>()>;

  explicit Registry(std::string family) : family_(std::move(family)) {}

  // Registers under a class name and any number of aliases; a name registered twice is an
  // error.
  bool add(const std::string& name, Maker maker, std::initializer_list<const char*> aliases = {}) {
    insert(name, maker);
    for (const char* alias : aliases) insert(alias, maker);
    return true;
  }
  // Whether a name is registered.
  bool has(std::string_view name) const { return makers_.find(name) != makers_.end(); }
  // An object by a registered name; throws NotFound, listing the names there are.
  std::shared_ptr<T> make(std::string_view name) const {
    auto found = makers_.find(name);
    if (found == makers_.end()) {
      throw not_found(family_, "a registered name is expected", {{"name", in_quotes(name)}},
                      "Known names: " + join(names()) + ".");
    }
    return found->second();
  }
  // Every registered name, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, maker] : makers_) result.push_back(name);
    return result;
  }

 private:
  void insert(const std::string& name, const Maker& maker) {
    if (!makers_.emplace(name, maker).second) {
      throw Error(ErrorCode::AlreadyExists, family_, "a name may be registered once", {{"name", name}});
    }
  }
  std::string family_;
  std::map<std::string, Maker, std::less<>> makers_;
};

}  // namespace cohort
