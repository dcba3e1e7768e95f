#include "cohort/datasets/sources/json_lines.h"

#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

std::string json_file(const std::string& name, const std::string& bytes) {
  return write_file(shared_folder().file(name), bytes);
}
std::string three_objects() {
  return json_file("a.jsonl",
                   "{\"n\": 1, \"x\": [1.5, 2], \"s\": \"a\\nb\", \"b\": true}\n\n"
                   "{\"s\": \"\", \"n\": -2, \"x\": [3, 4e1], \"b\": false, \"other\": {\"deep\": [1]}}\r\n"
                   "  {\"n\": 3, \"x\": [0, 0], \"s\": \"c\", \"b\": null}");
}
const std::vector<JsonField> kFields{
    {"n", DType::Int64}, {"x", DType::Float32, {2}}, {"s", DType::String}, {"b", DType::Bool, {}, "false"}};

TEST(JsonLines, BecomeDictsOfTheFieldsAskedFor) {
  const Dataset data = json_lines(three_objects(), kFields);
  EXPECT_EQ(data.element_spec().kind(), ElementSpec::Kind::Dict);
  EXPECT_EQ(data.element_spec().key(1), "x");
  EXPECT_EQ(texts(data),
            (std::vector<std::string>{"int64():1.000000|float32(2,):1.500000|2.000000|string():a\nb|bool():1.000000|",
                                      "int64():-2.000000|float32(2,):3.000000|40.000000|string():|bool():0.000000|",
                                      "int64():3.000000|float32(2,):0.000000|0.000000|string():c|bool():0.000000|"}));
  EXPECT_EQ(texts(data.batch(2)), texts(data.prefetch(1).batch(2)));
}

TEST(JsonLines, WrongOnesNameFileLineAndField) {
  const std::string file = json_file("wrong.jsonl",
                                     "{\"n\": 1}\n\n{\"n\": 1.5}\n{\"n\": \"1\"}\n[1]\n{\"n\": 1\n{}\n"
                                     "{\"n\": 99999999999}\n{\"n\": -99999999999}\n{\"n\": [1]}\n{\"n\": 2}\n");
  const Dataset data = json_lines(file, {{"n", DType::Int32}});
  const std::vector<std::string> all_texts = texts(data);
  ASSERT_EQ(all_texts.size(), 10u);
  EXPECT_EQ(std::count(all_texts.begin(), all_texts.end(), "error"), 8);
  EXPECT_EQ(all_texts.front(), "int32():1.000000|");
  EXPECT_EQ(all_texts.back(), "int32():2.000000|");
  expect_exact_positions(data);
  auto iterator = data.make_iterator();
  Tensors element;
  iterator->next(element);
  const std::string message = cohort::test::error_of([&] { iterator->next(element); });
  for (const char* part : {"wrong.jsonl", "line=3", "offset=10", "field='n'", "1.5"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

// What is nested deeply is no reason to run out of stack.
TEST(JsonLines, ADeepMemberIsAnErrorLikeAnyOther) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string file =
      json_file("deep.jsonl", "{\"n\": " + std::string(kDepth, '[') + std::string(kDepth, ']') + "}\n{\"n\": 2}\n");
  const auto iterator = json_lines(file, {{"n", DType::Int32}}).make_iterator();
  Tensors element;
  EXPECT_NE(cohort::test::error_of([&] { iterator->next(element); }).find("value=array"), std::string::npos);
  ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(*static_cast<const std::int32_t*>(element[0].raw()), 2);
}

TEST(JsonLines, RefuseWrongFields) {
  const std::string file = three_objects();
  EXPECT_NE(cohort::test::error_of([&] { json_lines(file, {}); }).find("at least one field"), std::string::npos);
  EXPECT_NE(cohort::test::error_of([&] {
              json_lines(file, {{"n", DType::Float16}});
            }).find("float16"),
            std::string::npos);
  EXPECT_NE(cohort::test::error_of([&] {
              json_lines(file, {{"n", DType::Int32, {kUnknown}}});
            }).find("known shape"),
            std::string::npos);
  EXPECT_NE(cohort::test::error_of([&] {
              json_lines(file, {{"n"}, {"n"}});
            }).find("different names"),
            std::string::npos);
  for (const char* value : {"", "x", "[1]", "1.5"}) {
    EXPECT_NE(cohort::test::error_of([&] {
                json_lines(file, {{"n", DType::Int32, {}, value}});
              }).find("a default"),
              std::string::npos);
  }
}

const PositionsCase kJsonCases[] = {
    {"json_lines", [] { return json_lines(three_objects(), kFields); }},
    {"batched_json_lines",
     [] {
       return json_lines({three_objects(), three_objects()}, kFields).batch(4);
     }},
};
INSTANTIATE_TEST_SUITE_P(JsonLines, Positions, testing::ValuesIn(kJsonCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
