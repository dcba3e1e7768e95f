#include "cohort/datasets/sources/csv.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "cohort/datasets/sources/parse_number.h"
#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

using Texts = std::vector<std::string>;

std::string csv_file(const std::string& name, const std::string& bytes) {
  return write_file(shared_folder().file(name), bytes);
}

TEST(Csv, ReadsColumnsByNameAndNumber) {
  const std::string file = csv_file("a.csv", "a,b,c,d\n1,2.5,x,true\r\n-3,4,y z,0\n");
  const Dataset data = csv(file, {.tensors = {{{"c"}, DType::String}, {{0}, DType::Int64}, {{"b", 3}, DType::String}}});
  EXPECT_EQ(texts(data), (Texts{"string():x|int64():1.000000|string(2,):2.5|true|",
                                "string():y z|int64():-3.000000|string(2,):4|0|"}));
  const Dataset named =
      csv(file, {.tensors = {{{"a"}, DType::Int32}, {{"b"}, DType::Float64}, {{"d"}, DType::Bool}}, .dict = true});
  EXPECT_EQ(to_string(named.element_spec()), to_string(ElementSpec::dict({{"a", TensorSpec{DType::Int32, {}}},
                                                                          {"b", TensorSpec{DType::Float64, {}}},
                                                                          {"d", TensorSpec{DType::Bool, {}}}})));
  EXPECT_EQ(texts(named), (Texts{"int32():1.000000|float64():2.500000|bool():1.000000|",
                                 "int32():-3.000000|float64():4.000000|bool():0.000000|"}));
}

TEST(Csv, OneTensorIsByItselfAndNoneAreAllColumns) {
  const std::string file = csv_file("b.csv", "1;2\n3;4");
  const Dataset all_columns = csv(file, {.header = false, .delimiter = ';'});
  EXPECT_EQ(to_string(all_columns.element_spec()), "(float32(), float32())");
  EXPECT_EQ(texts(all_columns),
            (Texts{"float32():1.000000|float32():2.000000|", "float32():3.000000|float32():4.000000|"}));
  const Dataset one = csv(file, {.tensors = {{{1}, DType::Int64}}, .header = false, .delimiter = ';'});
  EXPECT_EQ(to_string(one.element_spec()), "int64()");
  EXPECT_EQ(numbers(one), (std::vector<std::int64_t>{2, 4}));
}

TEST(Csv, ReadsQuotesAsRfc4180) {
  const std::string file = csv_file("q.csv",
                                    "text,n\n"
                                    "\"a,b\",1\n"
                                    "\"say \"\"hi\"\"\",2\r\n"
                                    "\"two\r\nlines\n\",3\n"
                                    "\"\",4\n"
                                    "\"\"\"\",\"5\"\n"
                                    "plain,6");
  const Dataset data = csv(file, {.tensors = {{{"text"}, DType::String, ""}, {{"n"}, DType::Int64}}});
  EXPECT_EQ(texts(data), (Texts{"string():a,b|int64():1.000000|", "string():say \"hi\"|int64():2.000000|",
                                "string():two\r\nlines\n|int64():3.000000|", "string():|int64():4.000000|",
                                "string():\"|int64():5.000000|", "string():plain|int64():6.000000|"}));
  EXPECT_EQ(texts(data.batch(4)), texts(data.prefetch(1).batch(4)));
  expect_exact_positions(data);
  const Dataset raw = csv(csv_file("raw.csv", "\"a,1\nb\",2\n"),
                          {.tensors = {{{0}, DType::String}}, .header = false, .use_quotes = false});
  EXPECT_EQ(lines_of(raw), (Texts{"\"a", "b\""}));
}

TEST(Csv, QuotedNewLinesMayBeLongerThanWhatIsReadAtATime) {
  std::string field;
  while (field.size() < (3u << 20)) field += "line, \"\"quoted\"\"\n";
  const Dataset data = csv(csv_file("big.csv", "t,n\n\"" + field + "\",1\nx,2\n"),
                           {.tensors = {{{"n"}, DType::Int64}, {{"t"}, DType::String}}});
  EXPECT_EQ(numbers(data), (std::vector<std::int64_t>{1, 2}));
}

TEST(Csv, EmptyFieldsTakeTheDefaultOrFail) {
  const std::string file = csv_file("e.csv", "a,b,c\n1,,NA\n,2,x\n3,,\n");
  const Dataset data = csv(
      file, {.tensors = {{{"a"}, DType::Int64, "-1"}, {{"b"}, DType::Float32, "0.5"}, {{"c"}, DType::String, "none"}},
             .na_value = "NA"});
  EXPECT_EQ(texts(data), (Texts{"int64():1.000000|float32():0.500000|string():none|",
                                "int64():-1.000000|float32():2.000000|string():x|",
                                "int64():3.000000|float32():0.500000|string():none|"}));
  const Dataset strict = csv(file, {.tensors = {{{"a"}, DType::Int64}}});
  EXPECT_EQ(texts(strict), (Texts{"int64():1.000000|", "error", "int64():3.000000|"}));
  auto iterator = strict.make_iterator();
  EXPECT_EQ(iterator->skip(1), 1u);
  Tensors element;
  const std::string message = cohort::test::error_of([&] { iterator->next(element); });
  for (const char* part : {"e.csv", "line=3", "offset=12", "column='a'"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  // A number may stand for nothing, too.
  const Dataset minus =
      csv(csv_file("m.csv", "a\n5\n-1\n"), {.tensors = {{{"a"}, DType::Int64, "0"}}, .na_value = "-1"});
  EXPECT_EQ(numbers(minus), (std::vector<std::int64_t>{5, 0}));
}

TEST(Csv, BlankLinesArePassedBy) {
  const Dataset data = csv(csv_file("blank.csv", "a\n\n1\n\r\n2\n\n"), {.tensors = {{{"a"}, DType::Int64}}});
  EXPECT_EQ(numbers(data), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(all(data.batch(3)), (std::vector<std::vector<std::int64_t>>{{1, 2}}));
}

TEST(Csv, WrongRowsFailAndTheNextOneFollows) {
  const std::string file =
      csv_file("w.csv", "a,b\n1,2\n3\n4,5,6\nx,7\n8,99999999999\n9,1\"2\n\"1\"0,11\n12,13\n1e2,14\n15,\"16\n");
  const Dataset data = csv(file, {.tensors = {{{"a"}, DType::Int32}, {{"b"}, DType::Int32}}});
  EXPECT_EQ(texts(data), (Texts{"int32():1.000000|int32():2.000000|", "error", "error", "error", "error", "error",
                                "error", "int32():12.000000|int32():13.000000|", "error", "error"}));
  expect_exact_positions(data);
  auto iterator = data.make_iterator();
  const auto message = [&](std::uint64_t row) {
    iterator->rewind();
    iterator->skip(row);
    Tensors element;
    return cohort::test::error_of([&] { iterator->next(element); });
  };
  const std::vector<std::pair<std::uint64_t, std::string>> expected{{1, "2 columns is expected, not of fewer"},
                                                                    {2, "2 columns is expected, not of more"},
                                                                    {3, "a value of type int32"},
                                                                    {4, "line=6"},
                                                                    {5, "no quotes in a field without quotes"},
                                                                    {6, "a delimiter behind the quote"},
                                                                    {9, "a quote that closes"}};
  for (const auto& [row, part] : expected) EXPECT_NE(message(row).find(part), std::string::npos) << message(row);
}

// A batch with a wrong row fails as a whole, and the next batch begins where it would have.
TEST(Csv, BatchesStayAlignedPastWrongRows) {
  std::string text = "a\n";
  for (int i = 0; i < 40; ++i) text += (i == 9 || i == 10 ? "wrong" : std::to_string(i)) + std::string("\n");
  const Texts files{csv_file("al1.csv", text), csv_file("al2.csv", "a\n40\n41\n")};
  constexpr std::uint64_t second_file = std::uint64_t{1} << 40;
  const Dataset data = csv(files, {.tensors = {{{"a"}, DType::Int64}}}).batch(4);
  auto iterator = data.make_iterator();
  Tensors element;
  for (std::int64_t batch = 0; batch < 11; ++batch) {
    if (batch == 2) {
      const std::string message = cohort::test::error_of([&] { iterator->next(element); });
      EXPECT_NE(message.find("line=11"), std::string::npos) << message;
    } else {
      ASSERT_TRUE(iterator->next(element));
      EXPECT_EQ(element[0].to_vector<std::int64_t>()[0], batch * 4);
      EXPECT_EQ(iterator->key(), (ElementKey{0, batch < 10 ? static_cast<std::uint64_t>(batch) * 4 : second_file}));
    }
  }
  EXPECT_FALSE(iterator->next(element));
}

TEST(Csv, FilesHaveTheSameHeader) {
  const std::string first = csv_file("f1.csv",
                                     "\xEF\xBB\xBF"
                                     "a,b\n1,2\n"),
                    second = csv_file("f2.csv", "a,b\r\n3,4\n"), other = csv_file("f3.csv", "b,a\n5,6\n"),
                    empty = csv_file("f4.csv", "");
  const CsvOptions options{.tensors = {{{"b"}, DType::Int64}}};
  EXPECT_EQ(numbers(csv({first, empty, second}, options)), (std::vector<std::int64_t>{2, 4}));
  auto iterator = csv({first, other}, options).make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  EXPECT_THROW(iterator->next(element), BrokenSource);
  EXPECT_THROW(iterator->next(element), BrokenSource);
}

TEST(Csv, RefusesWrongOptions) {
  const std::string file = csv_file("o.csv", "a,b\n1,2\n");
  const auto refused = [&](const CsvOptions& options, const char* part) {
    const std::string message = cohort::test::error_of([&] { csv(file, options); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refused({.tensors = {{{"c"}}}}, "column='c'");
  refused({.tensors = {{{2}}}}, "column=2");
  refused({.tensors = {{{"a"}}, {{0}}}}, "each column may be asked for once");
  refused({.tensors = {{{}}}}, "at least one column");
  refused({.tensors = {{{"a"}, DType::UInt8}}}, "uint8");
  refused({.tensors = {{{"a"}, DType::Int32, "x"}}}, "default_value='x'");
  refused(
      {.tensors = {{{"a"}, DType::Int32, std::nullopt, "n"}, {{"b"}, DType::Int32, std::nullopt, "n"}}, .dict = true},
      "different names");
  refused({.delimiter = '"'}, "delimiter");
  refused({.tensors = {{{"a"}}}, .header = false}, "column='a'");
  EXPECT_NE(cohort::test::error_of([] { csv(csv_file("empty.csv", "")); }).find("begins with a row"),
            std::string::npos);
}

TEST(Csv, TakesNoMemoryInASteadyState) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  std::string text = "a,b,c\n";
  for (int i = 0; i < 2000; ++i) text += std::to_string(i * 0.37) + ",\"" + std::to_string(i) + "\",1e-3\n";
  const Dataset rows = csv(csv_file("st.csv", text), {.tensors = {{{"a", "c"}}, {{"b"}, DType::Int32}}});
  // Opening the file takes some, its rows none.
  EXPECT_LE(allocations_of_passes(rows), 20u);
  EXPECT_LE(allocations_of_passes(rows.batch(96)), 20u);
}

// Every number is the one that strtof and strtod give.
TEST(Csv, NumbersAreRoundedCorrectly) {
  std::mt19937_64 random(1);
  Texts written{"0",
                "-0",
                "1",
                ".5",
                "5.",
                "-.25",
                "+3",
                "16777216",
                "16777217",
                "0.1",
                "1e-45",
                "1e-46",
                "1e-400",
                "-1e-400",
                "3.4028235e38",
                "1e22",
                "9007199254740993",
                "1e23",
                "123456789012345678",
                "1234567890123456789012",
                "0.0000000001",
                "0.00000000001",
                " 7\t",
                "1E5"};
  for (int i = 0; i < 20000; ++i) {
    std::string digits = std::to_string(random() >> (random() % 60));
    digits.insert(random() % (digits.size() + 1), ".");
    if (digits != ".") written.push_back((random() % 2 ? "-" : "") + digits);
  }
  const auto parse_both = [](const std::string& text, DType dtype, char* usual, char* any) {
    const std::string row = text + ",";
    const bool there = parse_usual_number(row.data(), row.data() + row.size(), ',', dtype, usual) != nullptr;
    EXPECT_TRUE(parse_value(text, dtype, any)) << text;
    return there;
  };
  int usual_floats = 0;
  for (const std::string& text : written) {
    float usual = 0, any = 0;
    const bool there = parse_both(text, DType::Float32, reinterpret_cast<char*>(&usual), reinterpret_cast<char*>(&any));
    usual_floats += there;
    const float expected = std::strtof(text.c_str(), nullptr);
    if (there) {
      EXPECT_EQ(usual, expected) << text;
    }
    EXPECT_EQ(any, expected) << text;
    EXPECT_EQ(std::signbit(any), std::signbit(expected)) << text;
    double usual_wide = 0, any_wide = 0;
    const double wide = std::strtod(text.c_str(), nullptr);
    if (parse_both(text, DType::Float64, reinterpret_cast<char*>(&usual_wide), reinterpret_cast<char*>(&any_wide))) {
      EXPECT_EQ(usual_wide, wide) << text;
    }
    EXPECT_EQ(any_wide, wide) << text;
  }
  EXPECT_GT(usual_floats, 1000);
  char memory[8];
  for (const char* text : {"", " ", "-", "+", ".", "1.2.3", "1e", "0x10", "1e99", "--1", "+-1", "1 2"}) {
    EXPECT_FALSE(parse_value(text, DType::Float32, memory)) << text;
  }
  EXPECT_FALSE(parse_value("2147483648", DType::Int32, memory));
  EXPECT_FALSE(parse_value("1.0", DType::Int32, memory));
  EXPECT_TRUE(parse_value("-9223372036854775808", DType::Int64, memory));
  EXPECT_FALSE(parse_value("9223372036854775808", DType::Int64, memory));
  EXPECT_FALSE(parse_value("yes", DType::Bool, memory));
}

Texts files_for_positions() {
  std::string first = "n,t\n", second = first;
  for (int i = 0; i < 11; ++i) first += std::to_string(i) + (i % 3 == 0 ? ",\"a\nb\"\n" : ",x\n\n");
  for (int i = 11; i < 15; ++i) second += std::to_string(i) + ",\r\n";
  return {csv_file("pos1.csv", first), csv_file("pos2.csv", second)};
}
Texts packed_files_for_positions() {
  return {csv_file("pos1.csv.gz", packed("n,t\n1,x\n2,y\n", true)),
          csv_file("pos2.csv.gz", packed("n,t\n3,x\n", true))};
}
const CsvOptions kNumbers{.tensors = {{{"n"}, DType::Int64}, {{"t"}, DType::String, "none"}}};

const PositionsCase kCsvCases[] = {
    {"csv", [] { return csv(files_for_positions(), kNumbers); }},
    {"csv_batches", [] { return csv(files_for_positions(), kNumbers).batch(4); }},
    {"csv_shuffled", [] { return csv(files_for_positions(), kNumbers).shuffle(5, {.seed = 1}).batch(2).prefetch(2); }},
    {"csv_sharded", [] { return csv(files_for_positions(), kNumbers).shard(2, 1).repeat(2); }},
    {"csv_packed",
     [] {
       CsvOptions options = kNumbers;
       options.compression = "gzip";
       return csv(packed_files_for_positions(), options);
     }},
};
INSTANTIATE_TEST_SUITE_P(Csv, Positions, testing::ValuesIn(kCsvCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
