#include "cohort/ops/text.h"

#include "cohort/graph/function.h"
#include "cohort/ops/cast.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;
using Strings = std::vector<std::string>;

const std::vector<DType> kTexts = {DType::String};
const std::vector<DType> kTokens = {DType::String, DType::Int64};

Tensor texts(Strings values, const Shape& shape) { return Tensor::of_strings(std::move(values), shape); }
Tensor texts(Strings values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return texts(std::move(values), {count});
}
std::vector<std::int64_t> whole(const Tensor& tensor) { return tensor.to_vector<std::int64_t>(); }

// Buckets as TensorFlow gives them; longer texts are in the golden cases of Hashing.
COHORT_OP_REFERENCE(HashBuckets, of_short_texts, kTexts) {
  const std::vector<std::int64_t> plain = whole(hash_buckets(texts({"", "a", "abcd", "12345678"}), 1000));
  EXPECT_EQ(plain, (std::vector<std::int64_t>{263, 939, 985, 362}));
  const std::vector<std::int64_t> salted = whole(hash_buckets(texts({"", "a", "abcd", "12345678"}), 1000, {1, 2}));
  EXPECT_EQ(salted, (std::vector<std::int64_t>{435, 646, 811, 12}));
}
TEST(HashBuckets, numbers_are_hashed_as_their_digits) {
  EXPECT_EQ(whole(hash_buckets(tensor_of({-5, 0, 123}, {3}, int32), 97)),
            whole(hash_buckets(texts({"-5", "0", "123"}), 97)));
  expect_error([] { hash_buckets(texts({"a"}), 0); }, {"num_buckets=0"});
  expect_error([] { hash_buckets(texts({"a"}), 2, {1}); }, {"two numbers"});
  expect_error([] { hash_buckets(tensor_of({0.5}, {1}), 2); }, {"strings or integers"});
}

COHORT_OP_REFERENCE(StandardizeText, in_three_ways, kTexts) {
  const Tensor given = texts({"It's A-B, ÄÖ!", "x_y"});
  EXPECT_EQ(standardize_text(given, "lower").to_strings(), (Strings{"it's a-b, ÄÖ!", "x_y"}));
  EXPECT_EQ(standardize_text(given, "strip_punctuation").to_strings(), (Strings{"Its AB ÄÖ", "xy"}));
  EXPECT_EQ(standardize_text(given, "lower_and_strip_punctuation").to_strings(), (Strings{"its ab ÄÖ", "xy"}));
  expect_error([&] { standardize_text(given, "upper"); }, {"standardize=upper"});
}

COHORT_OP_REFERENCE(TokenizeText, words_characters_and_runs, kTexts) {
  const Tensor given = texts({" a bc\td", "", "ef"});
  const Tensor words = tokenize(given);
  EXPECT_EQ(words.shape(), (Shape{3, 3}));
  EXPECT_EQ(words.to_strings(), (Strings{"a", "bc", "d", "", "", "", "ef", "", ""}));
  EXPECT_EQ(tokenize(given, {.length = 2}).to_strings(), (Strings{"a", "bc", "", "", "ef", ""}));
  EXPECT_EQ(tokenize(given, {.ngrams = {2}}).to_strings(), (Strings{"a bc", "bc d", "", "", "", ""}));
  EXPECT_EQ(tokenize(texts({"aé€", "\xFFz"}), {.split = "character"}).to_strings(),
            (Strings{"a", "é", "€", "\xEF\xBF\xBD", "z", ""}));
  EXPECT_EQ(tokenize(texts({"a", "b", "c", "d"}, {2, 2}), {.split = "", .ngrams = {1, 2}}).to_strings(),
            (Strings{"a", "b", "a b", "c", "d", "c d"}));
  expect_error([&] { tokenize(given, {.split = "lines"}); }, {"split=lines"});
  expect_error([&] { tokenize(given, {.ngrams = {0}}); }, {"ngrams must be positive"});
}
TEST(TokenizeText, in_a_trace_of_any_batch) {
  Function words = function([](Tensor x) { return tokenize(standardize_text(x, "lower"), {.length = 2}); });
  EXPECT_EQ(Tensor(words(texts({"A b"}))).to_strings(), (Strings{"a", "b"}));
  EXPECT_EQ(Tensor(words(texts({"A", "B c d"}))).to_strings(), (Strings{"a", "", "b", "c"}));
}

COHORT_OP_REFERENCE(LookupIndex, of_tokens, kTokens) {
  const bool strings = dtype == DType::String;
  const auto tokens = [&](std::vector<double> numbers, const Shape& shape) {
    if (!strings) return tensor_of(numbers, shape, int64).to(cpu());
    Strings names;
    for (double number : numbers) names.push_back(std::to_string(static_cast<int>(number)));
    return texts(names, shape);
  };
  LookupRule rule{.vocabulary = tokens({7, 3}, {2}), .first_index = 2, .oov_index = 1, .mask_token = tokens({0}, {})};
  EXPECT_EQ(whole(lookup_index(tokens({3, 7, 0, 9}, {2, 2}), rule)), (std::vector<std::int64_t>{3, 2, 0, 1}));
  rule.num_oov_indices = 0;
  expect_error([&] { lookup_index(tokens({3, 9}, {2}), rule); }, {"token=9", "num_oov_indices"});
}
TEST(LookupIndex, spreads_unknown_numbers) {
  const LookupRule rule{
      .vocabulary = tensor_of({7}, {1}, int64).to(cpu()), .first_index = 3, .oov_index = 0, .num_oov_indices = 3};
  EXPECT_EQ(whole(lookup_index(tensor_of({4, -1, 7}, {3}, int32), rule)), (std::vector<std::int64_t>{1, 2, 3}));
  expect_error([&] { lookup_index(texts({"a"}), rule); }, {"type of the vocabulary"});
}

COHORT_OP_REFERENCE(LookupToken, at_indices, kTokens) {
  const Tensor indices = tensor_of({0, 1, 2, 3, 9, -4}, {6}, int64);
  if (dtype == DType::String) {
    const Tensor found = lookup_token(indices, texts({"a", "b"}), 2, texts({"?"}, {}), texts({""}, {}));
    EXPECT_EQ(found.to_strings(), (Strings{"", "?", "a", "b", "?", "?"}));
  } else {
    const Tensor found =
        lookup_token(indices, tensor_of({5, 6}, {2}, int64).to(cpu()), 1, tensor_of({-1}, {}, int64).to(cpu()));
    EXPECT_EQ(whole(found), (std::vector<std::int64_t>{-1, 5, 6, -1, -1, -1}));
  }
}

}  // namespace
}  // namespace cohort::test
