#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/string_hash.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

struct Bucketer {
  explicit Bucketer(std::int64_t buckets, const std::vector<std::int64_t>& salt)
      : buckets(static_cast<std::uint64_t>(buckets)), keyed(!salt.empty()) {
    if (keyed) keys = {static_cast<std::uint64_t>(salt[0]), static_cast<std::uint64_t>(salt[1])};
  }
  std::int64_t operator()(std::string_view text) const {
    const std::uint64_t hash = keyed ? siphash(text, keys[0], keys[1]) : fingerprint64(text);
    return static_cast<std::int64_t>(hash % buckets);
  }
  std::uint64_t buckets;
  bool keyed;
  std::array<std::uint64_t, 2> keys{};
};

KernelFn make_hash_buckets(const KernelSpec& spec) {
  const Bucketer bucket(spec.attr<std::int64_t>("num_buckets"), spec.attr<std::vector<std::int64_t>>("salt"));
  const std::int64_t size = spec.input_size(0);
  if (spec.input(0).dtype == DType::String) {
    return [=](const KernelIO& io) {
      const auto* x = io.in<std::string>(0);
      std::transform(x, x + size, io.out<std::int64_t>(0), bucket);
    };
  }
  if (spec.input(0).dtype == DType::Bool) {
    return [=](const KernelIO& io) {
      const bool* x = io.in<bool>(0);
      std::transform(x, x + size, io.out<std::int64_t>(0), [&](bool each) { return bucket(each ? "true" : "false"); });
    };
  }
  return visit_index(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      const T* x = io.in<T>(0);
      std::transform(x, x + size, io.out<std::int64_t>(0), [&](T each) {
        std::array<char, 24> digits;
        const auto end = std::to_chars(digits.begin(), digits.end(), static_cast<std::int64_t>(each)).ptr;
        return bucket({digits.data(), static_cast<std::size_t>(end - digits.data())});
      });
    };
  });
}

bool is_punctuation(char letter) {
  static constexpr std::string_view kMarks = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'";
  return kMarks.find(letter) != std::string_view::npos;
}

KernelFn make_standardize_text(const KernelSpec& spec) {
  const auto how = spec.attr<std::string>("standardize");
  const bool lower = how != "strip_punctuation", strip = how != "lower";
  const std::int64_t size = spec.input_size(0);
  return [=](const KernelIO& io) {
    const auto* x = io.in<std::string>(0);
    auto* y = io.out<std::string>(0);
    for (std::int64_t i = 0; i < size; ++i) {
      std::string& text = y[i] = x[i];
      if (lower) {
        for (char& letter : text) letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
      }
      if (strip) std::erase_if(text, is_punctuation);
    }
  };
}

// TensorFlow splits at ASCII white space.
void split_at_spaces(const std::string& text, std::vector<std::string>& tokens) {
  static constexpr std::string_view kSpaces = " \t\n\v\f\r";
  for (std::size_t end, begin = text.find_first_not_of(kSpaces); begin != std::string::npos;
       begin = text.find_first_not_of(kSpaces, end)) {
    end = std::min(text.find_first_of(kSpaces, begin), text.size());
    tokens.push_back(text.substr(begin, end - begin));
  }
}

// Characters of UTF-8; what is none becomes the replacement character, byte by byte.
void split_characters(const std::string& text, std::vector<std::string>& tokens) {
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t count = first < 0x80 ? 1 : first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 ? 3 : 2;
    bool good = first < 0x80 || (first >= 0xC2 && first < 0xF5);
    for (std::size_t k = 1; good && k < count; ++k) good = continues(i + k);
    tokens.push_back(good ? text.substr(i, count) : "\xEF\xBF\xBD");
    i += good ? count : 1;
  }
}

std::vector<std::string> runs_of(const std::vector<std::string>& tokens, const std::vector<std::int64_t>& lengths) {
  std::vector<std::string> runs;
  for (const std::int64_t each : lengths) {
    const auto length = static_cast<std::size_t>(each);
    for (std::size_t i = 0; i + length <= tokens.size(); ++i) {
      std::string run = tokens[i];
      for (std::size_t k = 1; k < length; ++k) run += " " + tokens[i + k];
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

KernelFn make_tokenize_text(const KernelSpec& spec) {
  const auto split = spec.attr<std::string>("split");
  const auto ngrams = spec.attr<std::vector<std::int64_t>>("ngrams");
  const auto length = spec.attr<std::int64_t>("length");
  const Shape input = spec.input(0).shape;
  const Shape texts = split.empty() ? input.slice(0, input.rank() - 1) : input;
  const std::int64_t count = texts.num_elements(), width = split.empty() ? input.back() : 1;
  return [=](const KernelIO& io) {
    const auto* x = io.in<std::string>(0);
    std::vector<std::vector<std::string>> tokens(static_cast<std::size_t>(count));
    std::size_t longest = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<std::string>& row = tokens[static_cast<std::size_t>(i)];
      if (split == "whitespace") {
        split_at_spaces(x[i], row);
      } else if (split == "character") {
        split_characters(x[i], row);
      } else {
        row.assign(x + i * width, x + (i + 1) * width);
      }
      if (!ngrams.empty()) row = runs_of(row, ngrams);
      longest = std::max(longest, row.size());
    }
    const std::int64_t kept = length > 0 ? length : static_cast<std::int64_t>(longest);
    Shape shape = texts;
    shape.push_back(kept);
    auto* y = static_cast<std::string*>(io.allocator->allocate(0, shape));
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<std::string>& row = tokens[static_cast<std::size_t>(i)];
      const auto taken = std::min(kept, static_cast<std::int64_t>(row.size()));
      std::move(row.begin(), row.begin() + taken, y + i * kept);
    }
  };
}

COHORT_KERNEL("HashBuckets", kCPU, make_hash_buckets);
COHORT_KERNEL("StandardizeText", kCPU, make_standardize_text);
COHORT_KERNEL("TokenizeText", kCPU, make_tokenize_text);

}  // namespace
}  // namespace cohort
