#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/zip_archive.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/preprocessing/string_lookup.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/keras_archive.h"
#include "cohort/saving/model_json.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/zip_bytes.h"

// Files that are damaged, hostile or from elsewhere, and places that cannot be written to.
namespace cohort {
namespace {

using test::error_of;
using test::zip_bytes;
using testing::HasSubstr;

class BadFilesTest : public testing::Test {
 protected:
  BadFilesTest() : model_({make<InputLayer>(Shape{3}), layers::Dense(4), layers::Dense(2)}) {
    model_.save(path_);
    bytes_ = read_file(path_);
  }
  // The archive of the model with one member in another's place.
  std::string with(const std::string& member, const std::string& content) const {
    return changed(bytes_, member, content);
  }
  static std::string changed(const std::string& archive, const std::string& member, const std::string& content) {
    test::ZipMembers members = ZipArchive::parse(archive, "good").members();
    for (auto& [name, bytes] : members) {
      if (name == member) bytes = content;
    }
    return zip_bytes(members);
  }
  std::string config() const { return ZipArchive::parse(bytes_, "good").at("config.json"); }
  std::string refusal(const std::string& bytes) const {
    write_file_atomically(folder_.file("bad.keras"), bytes);
    return error_of([&] { load_model(folder_.file("bad.keras")); });
  }
  int files_in(const std::filesystem::path& folder) const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files += entry.exists();
    return files;
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("model.keras");
  Sequential model_;
  std::string bytes_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST_F(BadFilesTest, ATruncatedArchiveIsRefused) {
  for (std::size_t size = 0; size < bytes_.size(); size += 97) {
    EXPECT_THAT(refusal(bytes_.substr(0, size)), HasSubstr("DataLoss")) << size;
  }
}

TEST_F(BadFilesTest, MembersWithNamesThatLeadOutOrOccurTwiceAreRefused) {
  for (const char* name : {"../x", "a/../../x", "/etc/x", "..", "C:x", "a\\x"}) {
    EXPECT_THAT(error_of([&] {
                  ZipArchive::parse(zip_bytes({{name, "x"}}), "bad.keras");
                }),
                HasSubstr("a member must have a name inside the archive"))
        << name;
  }
  EXPECT_THAT(refusal(zip_bytes({{"config.json", "{}"}, {"config.json", "[]"}})), HasSubstr("DataLoss zip archive"));
}

TEST_F(BadFilesTest, AMemberThatUnpacksToFarMoreThanItIsIsRefused) {
  const std::string modest(std::size_t{1} << 20, 'x');
  EXPECT_EQ(ZipArchive::parse(zip_bytes({{"config.json", modest}}, true), "x").at("config.json"), modest);
  EXPECT_THAT(refusal(zip_bytes({{"config.json", std::string(std::size_t{100} << 20, 'x')}}, true)),
              HasSubstr("a member must have a size that its bytes can mean. Received: member=config.json"));
}

TEST_F(BadFilesTest, JsonOfAbsurdDepthIsRefused) {
  for (const std::string& deep : {std::string(1000000, '['), replaced(std::string(100000, '{'), "{", "{\"config\":")}) {
    EXPECT_THAT(refusal(with("config.json", deep)), HasSubstr("InvalidArgument model: JSON may be nested 250 deep"));
  }
}

TEST_F(BadFilesTest, AnUnknownClassSaysHowToRegisterIt) {
  const std::string mine = replaced(config(), "\"class_name\":\"Dense\"", "\"class_name\":\"Sparkle\"");
  EXPECT_THAT(refusal(with("config.json", mine)), HasSubstr("COHORT_REGISTER(Family, Class, \"package>Name\")"));
  EXPECT_THAT(refusal(with("config.json", mine)), HasSubstr("Sparkle"));
}

TEST_F(BadFilesTest, ALambdaIsRefused) {
  const std::string lambda =
      R"({"class_name":"Sequential","config":{"name":"s","layers":[{"module":"keras.layers","class_name":"Lambda",)"
      R"("config":{"name":"l","function":{"class_name":"__lambda__","config":{"code":"4wEAAAA="}}}}]}})";
  for (const bool safe_mode : {true, false}) {
    write_file_atomically(folder_.file("bad.keras"), with("config.json", lambda));
    EXPECT_THAT(error_of([&] { load_model(folder_.file("bad.keras"), {.safe_mode = safe_mode}); }),
                HasSubstr("Python code"));
  }
}

TEST_F(BadFilesTest, AModelInTheFieldOfAnotherFamilyIsRefused) {
  const std::string initializer = R"("kernel_initializer":{"module":"keras","class_name":"Sequential",)"
                                  R"("config":{"name":"s","layers":[]}},"bias_constraint")";
  // Behind the field's own value: of two values the last counts.
  EXPECT_THAT(refusal(with("config.json", replaced(config(), "\"bias_constraint\"", initializer))),
              HasSubstr("Dense: 'kernel_initializer' cannot be a model"));
}

TEST_F(BadFilesTest, AFileOfANewerKerasIsReadWhereItIsUnderstood) {
  const std::string newer = R"({"keras_version": "4.0.1", "date_saved": "2030-01-01@00:00:00"})";
  EXPECT_EQ(refusal(with("metadata.json", newer)), "");
  const std::string unknown = replaced(config(), "\"units\":", "\"sparkle\":1,\"units\":");
  EXPECT_THAT(refusal(with("config.json", unknown)), HasSubstr("key='sparkle'"));
  EXPECT_THAT(refusal(changed(with("config.json", unknown), "metadata.json", newer)),
              HasSubstr("The file was written by Keras 4.0.1"));
}

TEST_F(BadFilesTest, WeightsThatAreMissingOrOfOtherShapesAreRefused) {
  const std::string path = folder_.file("bad.weights.h5");
  const auto refused = [&](bool bias, const Shape& kernel) {
    {
      Hdf5File file = Hdf5File::create(path);
      file.write("layers/dense/vars/0",
                 Tensor::of(std::vector<float>(static_cast<std::size_t>(kernel.num_elements())), kernel));
      if (bias) file.write("layers/dense/vars/1", Tensor::of<float>({1, 2, 3, 4}, {4}));
      file.close();
    }
    return error_of([&] { model_.load_weights(path); });
  };
  EXPECT_THAT(refused(false, {3, 4}), HasSubstr("the file must hold as many weights as the model has"));
  EXPECT_THAT(refused(true, {4, 3}), HasSubstr("stored=(4, 3), expected=(3, 4)"));
  EXPECT_THAT(refused(true, {3, 4}), HasSubstr("layers/dense_1/vars"));
}

// The bytes in which strings of any length lie, and those that say where: the heaps and all references to them.
std::vector<std::size_t> places_of_strings(const std::string& file) {
  std::vector<std::size_t> places;
  for (std::size_t heap = file.find("GCOL"); heap != std::string::npos; heap = file.find("GCOL", heap + 1)) {
    for (std::size_t i = heap; i < std::min(heap + 700, file.size()); ++i) places.push_back(i);
    std::string address;  // little-endian
    for (int i = 0; i < 8; ++i) address += static_cast<char>(heap >> (8 * i) & 0xff);
    for (std::size_t at = file.find(address); at != std::string::npos; at = file.find(address, at + 1)) {
      for (std::size_t i = at - 4; i < std::min(at + 12, file.size()); ++i) places.push_back(i);
    }
  }
  return places;
}

// A flipped byte must be seen or harmless, never lead the HDF5 library astray.
TEST_F(BadFilesTest, DamagedStringsAreRefused) {
  Hdf5File file = Hdf5File::create_image("strings");
  file.create_group("group");
  file.set_attribute("group", "text", std::string(300, 't'));
  file.set_attribute("group", "names", {std::string("one"), std::string(40, '2'), std::string("")});
  file.write("words", Tensor::of_strings({"some", "words", "", std::string(100, 'w')}, {4}));
  const std::string good = file.image();
  int refused = 0;
  for (const std::size_t i : places_of_strings(good)) {
    for (const unsigned char change : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ change);
      try {
        const Hdf5File damaged = Hdf5File::open_image(bytes, "damaged");
        EXPECT_LE(damaged.string_attribute("group", "text").size(), 300u);
        EXPECT_LE(damaged.strings_attribute("group", "names").size(), 3u);
        damaged.read("words").to_strings();
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(BadFilesTest, AGroupThatIsItsOwnDescendantIsRefused) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "one thread walks a path of many names, for minutes under this sanitizer";
#endif
  const layers::StringLookup lookup;
  lookup.adapt(Tensor::of_strings({"b", "a", "b"}, {3}));
  const Sequential model({make<InputLayer>(Shape{1}, InputOptions{.dtype = DType::String}), lookup});
  const std::string path = folder_.file("circle.h5"), group = "/cohort_assets/layers/string_lookup/files";
  model.save(path);
  EXPECT_EQ(error_of([&] { load_model(path); }), "");
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  EXPECT_GE(H5Lcreate_hard(file, group.c_str(), file, (group + "/again").c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(file);
  EXPECT_THAT(error_of([&] { load_model(path); }),
              testing::AllOf(HasSubstr("DataLoss"), HasSubstr("must not be nested without end")));
}

// Writes that grow a file beyond this fail, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(BadFilesTest, AFullDiskLeavesTheOldFile) {
  Sequential large({make<InputLayer>(Shape{200}), layers::Dense(200)});
  for (const char* name : {"full.keras", "full.h5", "full.weights.h5", "full.graph"}) {
    const std::string path = folder_.file(name);
    const auto save = [&](Model& model) {
      if (path.ends_with(".weights.h5")) return model.save_weights(path);
      if (path.ends_with(".graph")) return model.export_graph(path);
      model.save(path);
    };
    save(model_);
    const std::string before = read_file(path);
    for (const rlim_t limit : {rlim_t{0}, rlim_t{700}, rlim_t{60000}, rlim_t{161000}}) {
      const FileSizeLimit full(limit);
      EXPECT_THAT(error_of([&] { save(large); }), HasSubstr("ResourceExhausted")) << name << " " << limit;
    }
    EXPECT_EQ(read_file(path), before);
  }
  EXPECT_EQ(files_in(folder_.path()), 5);
  large.save(folder_.file("full.keras"));
  load_model(folder_.file("full.keras"));
}

// Root may write everywhere: for a while this is somebody else.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(geteuid() == 0 && seteuid(65534) == 0) {}
  ~OrdinaryUser() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }

 private:
  bool was_root_;
};

TEST_F(BadFilesTest, AFolderThatIsReadOnlyKeepsItsFiles) {
  chmod(folder_.path().c_str(), 0555);
  {
    const OrdinaryUser user;
    EXPECT_THAT(error_of([&] { model_.save(path_); }), HasSubstr("See that the folder is writable"));
    EXPECT_THAT(error_of([&] { model_.save(folder_.file("new.h5")); }), HasSubstr("See that the folder is writable"));
  }
  chmod(folder_.path().c_str(), 0755);
  EXPECT_EQ(read_file(path_), bytes_);
  EXPECT_EQ(files_in(folder_.path()), 1);
}

}  // namespace
}  // namespace cohort
