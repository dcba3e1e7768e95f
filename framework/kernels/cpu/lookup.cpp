#include <charconv>
#include <list>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/string_hash.h"

namespace cohort {
namespace {

// Positions of a vocabulary's tokens.
template <class T>
using Table = std::unordered_map<T, std::int64_t>;

// The table of a vocabulary. An eager call makes its kernel each time: the tables of the vocabularies used last are
// kept, with the vocabulary, so that no other one can take its place in memory.
template <class T>
std::shared_ptr<const Table<T>> table_of(const Tensor& vocabulary) {
  struct Entry {
    Tensor vocabulary;
    std::shared_ptr<const Table<T>> table;
  };
  constexpr std::size_t kKept = 16;
  static std::mutex mutex;
  static auto* kept = new std::list<Entry>;
  std::lock_guard lock(mutex);
  for (auto entry = kept->begin(); entry != kept->end(); ++entry) {
    if (!entry->vocabulary.same_as(vocabulary)) continue;
    kept->splice(kept->begin(), *kept, entry);
    return entry->table;
  }
  auto table = std::make_shared<Table<T>>();
  const Tensor host = vocabulary.to_host();
  const T* tokens = static_cast<const T*>(host.raw());
  for (std::int64_t i = 0; i < host.num_elements(); ++i) table->emplace(tokens[i], i);
  kept->push_front({vocabulary, table});
  if (kept->size() > kKept) kept->pop_back();
  return table;
}

template <class T>
T token_of(const Tensor& scalar) {
  return *static_cast<const T*>(scalar.to_host().raw());
}

std::string text_of(const std::string& token) { return token; }
std::string text_of(std::int64_t token) { return std::to_string(token); }

// Where tokens go that are not in the vocabulary.
struct OutOfVocabulary {
  explicit OutOfVocabulary(const KernelSpec& spec)
      : first(spec.attr<std::int64_t>("oov_index")),
        count(spec.attr<std::int64_t>("num_oov_indices")),
        hashed(spec.attr<bool>("hash_oov")),
        salt(spec.attr<std::vector<std::int64_t>>("salt")) {}
  template <class T>
  std::int64_t operator()(const T& token) const {
    if (count == 0) {
      throw invalid_argument("LookupIndex", "all tokens must be in the vocabulary when num_oov_indices is 0",
                             {{"token", token}}, "Set num_oov_indices to 1.");
    }
    if (count == 1) return first;
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (!hashed) return first + (token % count + count) % count;
    }
    const std::string text = text_of(token);
    const std::uint64_t hash =
        salt.empty() ? fingerprint64(text)
                     : siphash(text, static_cast<std::uint64_t>(salt[0]), static_cast<std::uint64_t>(salt[1]));
    return first + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(count));
  }
  std::int64_t first, count;
  bool hashed;
  std::vector<std::int64_t> salt;
};

template <class T>
KernelFn make_lookup_index_of(const KernelSpec& spec) {
  const auto table = table_of<T>(spec.attr<Tensor>("vocabulary"));
  const bool masked = spec.has_attr("mask_token");
  const T mask = masked ? token_of<T>(spec.attr<Tensor>("mask_token")) : T{};
  const auto first = spec.attr<std::int64_t>("first_index"), mask_index = spec.attr<std::int64_t>("mask_index");
  const OutOfVocabulary elsewhere(spec);
  const std::int64_t size = spec.input_size(0);
  return [=](const KernelIO& io) {
    const T* tokens = io.in<T>(0);
    auto* indices = io.out<std::int64_t>(0);
    for (std::int64_t i = 0; i < size; ++i) {
      if (masked && tokens[i] == mask) {
        indices[i] = mask_index;
      } else if (const auto found = table->find(tokens[i]); found != table->end()) {
        indices[i] = first + found->second;
      } else {
        indices[i] = elsewhere(tokens[i]);
      }
    }
  };
}

KernelFn make_lookup_index(const KernelSpec& spec) {
  return spec.input(0).dtype == DType::String ? make_lookup_index_of<std::string>(spec)
                                              : make_lookup_index_of<std::int64_t>(spec);
}

template <class T>
KernelFn make_lookup_token_of(const KernelSpec& spec) {
  const Tensor vocabulary = spec.attr<Tensor>("vocabulary").to_host();
  const bool masked = spec.has_attr("mask_token");
  const T mask = masked ? token_of<T>(spec.attr<Tensor>("mask_token")) : T{};
  const T unknown = token_of<T>(spec.attr<Tensor>("oov_token"));
  const auto first = spec.attr<std::int64_t>("first_index");
  const std::int64_t size = spec.input_size(0), count = vocabulary.num_elements();
  return [=](const KernelIO& io) {
    const auto* indices = io.in<std::int64_t>(0);
    const T* tokens = static_cast<const T*>(vocabulary.raw());
    T* found = io.out<T>(0);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t at = indices[i];
      if (masked && at == 0) {
        found[i] = mask;
      } else {
        found[i] = at >= first && at - first < count ? tokens[at - first] : unknown;
      }
    }
  };
}

KernelFn make_lookup_token(const KernelSpec& spec) {
  return spec.output(0).dtype == DType::String ? make_lookup_token_of<std::string>(spec)
                                               : make_lookup_token_of<std::int64_t>(spec);
}

COHORT_KERNEL("LookupIndex", kCPU, make_lookup_index);
COHORT_KERNEL("LookupToken", kCPU, make_lookup_token);

}  // namespace
}  // namespace cohort
