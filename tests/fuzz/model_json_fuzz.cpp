#include <cctype>
#include <new>

#include "cohort/saving/model_json.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

// A model may ask for as much memory as its file says it needs; here it would only take time.
bool has_large_numbers(std::string_view text) {
  constexpr int kDigits = 2;
  int digits = 0;
  char before = ' ';  // the number
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (is_digit && digits++ == 0) before = i > 0 ? text[i - 1] : ' ';
    if (!is_digit) digits = 0;
    if (digits > kDigits && before != '.' && before != '-') return true;
    if ((text[i] == 'e' || text[i] == 'E') && i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0 &&
        text.substr(i + 1, 1) != "-") {
      return true;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  const std::string_view text = fuzz::text_of(bytes, count);
  if (has_large_numbers(text)) return -1;
  return fuzz::read_or_refuse([&] {
    try {
      const Ref<Model> model = model_from_json(text);
      model_from_json(model_to_json(*model));
    } catch (const std::bad_alloc&) {
    }
  });
}
