#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

#include "cohort/core/error.h"

namespace cohort::datasets {

// How errors speak of objects that stages refer to by name.
struct NamedKind {
  const char* who;    // the source
  const char* what;   // "a generator"
  const char* macro;  // what registers one
};

// Objects of this process that stages refer to by name, because they cannot travel: registered ones, which stay, and
// others, which live as long as the stages that have them. Thread-safe.
template <class T>
class NamedObjects {
 public:
  // Those of this type.
  static NamedObjects& instance() {
    static NamedObjects objects;
    return objects;
  }
  // Makes one known by a name that nobody else has.
  void add(const NamedKind& kind, const std::string& name, std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    if (name.empty() || !registered_.emplace(name, std::move(object)).second) {
      throw invalid_argument(kind.who, "a name that is not taken is expected", {{"name", name}});
    }
  }
  // Makes one known for as long as it lives; what it is called in this process and in no other.
  std::string add_local(const std::shared_ptr<T>& object) {
    std::lock_guard lock(mutex_);
    std::erase_if(local_, [](const auto& entry) { return entry.second.expired(); });
    const std::string name = std::to_string(process_) + "." + std::to_string(++made_);
    local_.emplace(name, object);
    return name;
  }
  // The one that is registered by this name; throws when there is none.
  std::shared_ptr<T> find(const NamedKind& kind, const std::string& name) const {
    std::lock_guard lock(mutex_);
    const auto found = registered_.find(name);
    if (found != registered_.end()) return found->second;
    throw not_found(kind.who, std::string(kind.what) + " that is registered is expected", {{"name", name}},
                    "Register it with " + std::string(kind.macro) + " in the program and its workers.");
  }
  // The one that add_local() called so; throws in another process.
  std::shared_ptr<T> find_local(const NamedKind& kind, const std::string& name) const {
    std::lock_guard lock(mutex_);
    const auto found = local_.find(name);
    if (std::shared_ptr<T> object = found == local_.end() ? nullptr : found->second.lock()) return object;
    throw failed_precondition(kind.who, std::string(kind.what) + " of this process is expected", {{"name", name}},
                              "To send the dataset, register it with " + std::string(kind.macro) +
                                  " in the program and its workers, and make the dataset by its name.");
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<T>> registered_;
  std::map<std::string, std::weak_ptr<T>> local_;
  std::uint64_t process_ = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  std::uint64_t made_ = 0;
};

}  // namespace cohort::datasets
