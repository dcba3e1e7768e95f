#include "cohort/saving/config_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {
namespace {

// A small family with the shapes of Keras's own: named functions, initializers, a wrapper, a user's class.
class Thing : public Configurable {
 public:
  static Registry<Thing>& registry() {
    static Registry<Thing> things("Thing");
    return things;
  }
  static std::shared_ptr<Thing> from_name(std::string_view name) { return registry().make(name); }
};

class Relu : public Thing {
 public:
  std::string class_name() const override { return "relu"; }
  std::string short_name() const override { return "relu"; }
};

class RandomUniform : public Thing {
 public:
  std::string class_name() const override { return "RandomUniform"; }
  std::string module_name() const override { return "keras.initializers"; }
  void visit_fields(FieldVisitor& visitor) override {
    visitor.field("seed", seed);
    visitor.field("minval", minval);
    visitor.field("maxval", maxval);
  }
  std::optional<std::int64_t> seed;
  double minval = -0.05, maxval = 0.05;
};

struct DenseOptions {
  std::string name = "dense";
  DType dtype = DType::Float32;
  int units = 1;
  Ref<Thing> activation = nullptr;
  bool use_bias = true;
  Ref<Thing> kernel_initializer = nullptr;
  Ref<Thing> kernel_regularizer = nullptr;
};
COHORT_FIELDS(DenseOptions, name, dtype, units, activation, use_bias, kernel_initializer, kernel_regularizer)

class Dense : public Thing {
 public:
  std::string class_name() const override { return "Dense"; }
  std::string module_name() const override { return "keras.layers"; }
  void visit_fields(FieldVisitor& visitor) override { visit_options(options, visitor); }
  void fields_changed() override { ++changes; }
  std::vector<std::string> ignored_fields() const override { return {"quantization_config"}; }
  bool writes_dtype_policy() const override { return true; }
  DenseOptions options;
  int changes = 0;
};

class Everything : public Thing {
 public:
  std::string class_name() const override { return "mine>Everything"; }
  void visit_fields(FieldVisitor& visitor) override {
    visitor.field("flag", flag);
    visitor.field("count", count);
    visitor.field("rate", rate);
    visitor.field("text", text);
    visitor.field("dtype", dtype);
    visitor.field("shape", shape);
    visitor.field("integers", integers);
    visitor.field("numbers", numbers);
    visitor.field("texts", texts);
    visitor.field("maybe_flag", maybe_flag);
    visitor.field("maybe_count", maybe_count);
    visitor.field("maybe_rate", maybe_rate);
    visitor.field("maybe_text", maybe_text);
    visitor.field("maybe_shape", maybe_shape);
    visitor.field("maybe_integers", maybe_integers);
    visitor.field("maybe_numbers", maybe_numbers);
    visitor.field("inner", inner);
    visitor.field("list", list);
    visitor.field("number", number);
    visitor.field("maybe_array", maybe_array);
    visitor.field("dict", dict);
  }
  bool flag = false;
  std::int64_t count = 0;
  double rate = 0;
  std::string text;
  DType dtype = DType::Float32;
  Shape shape;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::optional<bool> maybe_flag;
  std::optional<std::int64_t> maybe_count;
  std::optional<double> maybe_rate;
  std::optional<std::string> maybe_text;
  std::optional<Shape> maybe_shape;
  std::optional<std::vector<std::int64_t>> maybe_integers;
  std::optional<std::vector<double>> maybe_numbers;
  Ref<Thing> inner;
  std::vector<Ref<Thing>> list;
  std::variant<std::int64_t, std::string> number = std::int64_t{0};
  std::optional<NestedNumbers> maybe_array;
  std::optional<NumberDict> dict;
};

template <class T>
std::shared_ptr<Thing> maker() {
  return std::make_shared<T>();
}
[[maybe_unused]] const bool registered =
    Thing::registry().add("relu", maker<Relu>) &&
    Thing::registry().add("RandomUniform", maker<RandomUniform>, {"random_uniform"}) &&
    Thing::registry().add("Dense", maker<Dense>) && Thing::registry().add("mine>Everything", maker<Everything>);

std::string message_of(Configurable& object, std::string_view json) {
  try {
    from_json(object, json);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "no error";
}

constexpr const char* kDense =
    R"({"module": "keras.layers", "class_name": "Dense", "config": {"name": "dense_1",)"
    R"( "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "bfloat16"}, "registered_name": null},)"
    R"( "units": 8, "activation": "relu", "use_bias": false,)"
    R"( "kernel_initializer": {"module": "keras.initializers", "class_name": "RandomUniform",)"
    R"( "config": {"seed": 7, "minval": -0.25, "maxval": 1}, "registered_name": null}, "kernel_regularizer": null},)"
    R"( "registered_name": null})";

TEST(ConfigJson, ReadsWhatKerasWritesAndWritesItBack) {
  Dense dense;
  dense.options.kernel_regularizer = "relu";
  from_json(dense, kDense);
  EXPECT_EQ(dense.options.name, "dense_1");
  EXPECT_EQ(dense.options.dtype, DType::BFloat16);
  EXPECT_EQ(dense.options.units, 8);
  EXPECT_EQ(dense.options.activation->class_name(), "relu");
  EXPECT_FALSE(dense.options.use_bias);
  const auto uniform = dense.options.kernel_initializer.as<RandomUniform>();
  ASSERT_TRUE(uniform);
  EXPECT_EQ(uniform->seed, 7);
  EXPECT_EQ(uniform->minval, -0.25);
  EXPECT_EQ(uniform->maxval, 1.0);
  EXPECT_FALSE(dense.options.kernel_regularizer);
  EXPECT_EQ(dense.changes, 1);

  Json expected = Json::parse(kDense);
  expected["config"]["kernel_initializer"]["config"]["maxval"] = 1.0;
  EXPECT_EQ(to_json(dense), expected.dump());
  EXPECT_EQ(config_to_json(dense), expected["config"].dump());
}

TEST(ConfigJson, ReadsBareConfigsAndShorterForms) {
  Dense dense;
  from_json(dense, R"({"units": 3, "dtype": "float16", "kernel_initializer": "random_uniform",
                       "activation": {"module": "builtins", "class_name": "function", "config": "relu",
                                      "registered_name": "relu"}, "quantization_config": {"mode": "int8"}})");
  EXPECT_EQ(dense.options.units, 3);
  EXPECT_EQ(dense.options.dtype, DType::Float16);
  EXPECT_TRUE(dense.options.kernel_initializer.as<RandomUniform>());
  EXPECT_TRUE(dense.options.activation.as<Relu>());
  EXPECT_TRUE(dense.options.use_bias) << "what is not mentioned keeps its value";
}

TEST(ConfigJson, EveryKindOfFieldGoesRound) {
  Everything full;
  full.flag = true;
  full.count = std::int64_t{1} << 60;
  full.rate = 1e-7;
  full.text = "caf\xc3\xa9 \"quoted\"";
  full.dtype = DType::Int64;
  full.shape = {kUnknown, 28, 0};
  full.integers = {3, -1};
  full.numbers = {0.1, 2.0};
  full.texts = {"a", ""};
  full.maybe_flag = false;
  full.maybe_count = 0;
  full.maybe_rate = 0.5;
  full.maybe_text = "";
  full.maybe_shape = Shape{2, kUnknown};
  full.maybe_integers = std::vector<std::int64_t>{};
  full.maybe_numbers = std::vector<double>{1.5};
  full.inner = "random_uniform";
  full.list = {"relu", nullptr, "random_uniform"};
  full.number = "one";
  full.maybe_array = NestedNumbers({{1.0, 2.0}, {3.0, 4.5}});
  full.dict = NumberDict{{"rmax", 3.0}, {"dmax", 0.5}};
  const std::string json = to_json(full);
  EXPECT_TRUE(json.starts_with(R"({"module":null,"class_name":"Everything","config":{"flag":true,)")) << json;
  EXPECT_TRUE(json.ends_with(R"("registered_name":"mine>Everything"})")) << json;
  EXPECT_NE(json.find(R"("dtype":"int64","shape":[null,28,0])"), std::string::npos) << json;

  Everything read;
  from_json(read, json);
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.text, full.text);
  EXPECT_EQ(read.list.size(), 3u);
  EXPECT_EQ(read.maybe_array->shape(), (Shape{2, 2}));
  EXPECT_EQ(read.dict, full.dict);

  Everything empty;
  from_json(read, to_json(empty));  // null takes values away again
  EXPECT_EQ(to_json(read), to_json(empty));
  EXPECT_FALSE(read.maybe_array);
}

TEST(ConfigJson, PlainNumbersStandForListsOfOne) {
  Everything object;
  from_json(object, R"({"integers": -1, "numbers": 2, "maybe_numbers": 0.5, "rate": 3})");
  EXPECT_EQ(object.integers, (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(object.numbers, (std::vector<double>{2.0}));
  EXPECT_EQ(object.maybe_numbers, (std::vector<double>{0.5}));
  EXPECT_EQ(object.rate, 3.0);
}

TEST(ConfigJson, FindsTheNameAClassIsRegisteredUnder) {
  EXPECT_EQ(registered_name(Json::parse(kDense)), "Dense");
  EXPECT_EQ(registered_name(Json::parse(to_json(Everything()))), "mine>Everything");
  EXPECT_EQ(registered_name(Json::parse(
                R"({"module": "keras.src.ops.numpy", "class_name": "Add", "config": {}, "registered_name": "Add"})")),
            "keras.src.ops.numpy>Add");
  EXPECT_EQ(registered_name(Json::parse(R"({"module": "keras.src.models.functional", "class_name": "Functional",
                                            "config": {}, "registered_name": "Functional"})")),
            "Functional");
}

TEST(ConfigJson, ErrorsNameTheClassTheFieldAndTheValue) {
  Dense dense;
  EXPECT_EQ(message_of(dense, R"({"units": "many"})"),
            R"(Dense: 'units' must be an integer of 64 bits. Received: units="many".)");
  EXPECT_EQ(message_of(dense, R"({"unts": 3})"),
            "Dense: the config must hold fields of this class only. Received: key='unts', value=3. Known fields: name, "
            "dtype, units, activation, use_bias, kernel_initializer, kernel_regularizer.");
  EXPECT_EQ(message_of(dense, R"({"class_name": "RandomUniform", "config": {}})"),
            "Dense: JSON of this class is expected. Received: class_name=RandomUniform.");
  EXPECT_NE(message_of(dense, R"({"kernel_initializer": {"class_name": "RandomUniform", "config": {"seed": true}}})")
                .find("RandomUniform: 'seed' must be an integer"),
            std::string::npos);
  EXPECT_LT(message_of(dense, R"({"units": ")" + std::string(100000, 'x') + R"("})").size(), 300u);
}

TEST(ConfigJson, RefusesValuesOfAnotherType) {
  for (const char* bad : {R"({"flag": 1})",
                          R"({"flag": "true"})",
                          R"({"flag": null})",
                          R"({"count": 1.0})",
                          R"({"count": true})",
                          R"({"count": 9223372036854775808})",
                          R"({"count": null})",
                          R"({"rate": "0.1"})",
                          R"({"rate": false})",
                          R"({"text": 3})",
                          R"({"dtype": "float31"})",
                          R"({"dtype": 7})",
                          R"({"dtype": null})",
                          R"({"dtype": {"class_name": "DTypePolicy", "config": {}}})",
                          R"({"dtype": {"class_name": "DTypePolicy", "config": {"name": "mixed_float16"}}})",
                          R"({"shape": 3})",
                          R"({"shape": [-1]})",
                          R"({"shape": [1.5]})",
                          R"({"shape": [1, 2, 3, 4, 5, 6, 7, 8, 9]})",
                          R"({"integers": [1, "2"]})",
                          R"({"integers": "12"})",
                          R"({"numbers": [null]})",
                          R"({"texts": "a"})",
                          R"({"texts": [1]})",
                          R"({"maybe_flag": 0})",
                          R"({"maybe_shape": {}})",
                          R"({"inner": 3})",
                          R"({"inner": []})",
                          R"({"inner": {"config": {}}})",
                          R"({"inner": {"class_name": "Dense", "config": []}})",
                          R"({"list": "relu"})",
                          R"({"list": [3]})",
                          R"({"number": null})",
                          R"({"number": 1.5})",
                          R"({"maybe_array": [[1], [2, 3]]})",
                          R"({"maybe_array": {"class_name": "__numpy__", "config": {"value": [1]}}})",
                          R"({"dict": [1]})",
                          R"({"dict": {"a": "b"}})",
                          R"([])",
                          R"(3)",
                          R"("text")",
                          R"(null)",
                          "",
                          "{",
                          R"({"rate": NaN})",
                          "{\"text\": \"\xff\"}"}) {
    Everything object;
    EXPECT_NE(message_of(object, bad), "no error") << bad;
  }
  Dense dense;
  EXPECT_NE(message_of(dense, R"({"units": 4294967296})"), "no error");
}

TEST(ConfigJson, AnUnknownNameIsNotFound) {
  Dense dense;
  try {
    from_json(dense, R"({"activation": "rellu"})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_NE(std::string(error.what()).find("'rellu'"), std::string::npos);
  }
}

TEST(ConfigJson, ReadsNestedNumbersOfTensorsAndOfLists) {
  const auto numbers = [](const std::string& lists, const std::string& dtype) {
    const std::string tensor =
        R"({"class_name":"__numpy__","config":{"value":)" + lists + R"(,"dtype":")" + dtype + R"("}})";
    return nested_from_json(parse_json(dtype.empty() ? lists : tensor, "test"), "Mine");
  };
  for (const char* dtype : {"", "float32"}) {
    const NestedNumbers matrix = numbers("[[1, 2.5, true], [-4, 18446744073709551615, false]]", dtype);
    EXPECT_EQ(matrix.shape(), Shape({2, 3}));
    EXPECT_EQ(matrix.values(), (std::vector<double>{1, 2.5, 1, -4, 18446744073709551615.0, 0}));
    EXPECT_EQ(matrix.numpy_dtype(), dtype);
    EXPECT_TRUE(numbers("0.5", dtype).is_scalar());
    EXPECT_EQ(numbers("[[], []]", dtype).shape(), Shape({2, 0}));
    for (const char* bad :
         {"[[1, 2], [3]]", "[1, [2]]", "[[1], 2]", "[1, \"a\"]", "[null]", "{}", "[[[[[[[[[1]]]]]]]]]"}) {
      try {
        numbers(bad, dtype);
        ADD_FAILURE() << bad;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("Mine: a tensor is written as lists of numbers of equal lengths"),
                  std::string::npos)
            << error.what();
      }
    }
  }
}

TEST(ConfigJson, RefusesEndlessNesting) {
  std::string json = "{}";
  for (int i = 0; i < 2000; ++i)
    json = R"({"inner": {"class_name": "Everything", "registered_name": "mine>Everything", "config": )" + json + "}}";
  Everything object;
  EXPECT_NE(message_of(object, json).find("nested"), std::string::npos);
}

TEST(ConfigJson, RefusesDeepTextBeforeItIsAValue) {
  Everything object;
  const int deep = 200000;
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    std::string lists = "{\"unknown\": ";
    for (int i = 0; i < deep; ++i) lists += open;
    lists += "1";
    for (int i = 0; i < deep; ++i) lists += close;
    EXPECT_NE(message_of(object, lists + "}").find("JSON may be nested 250 deep"), std::string::npos) << open;
  }
}

TEST(ConfigJson, DoesNotWriteWhatCannotBeRead) {
  Everything object;
  object.rate = INFINITY;
  EXPECT_THROW(to_json(object), Error);
  object.rate = 0;
  object.text = "\xff\xfe";
  EXPECT_THROW(to_json(object), Error);
}

}  // namespace
}  // namespace cohort
