#include "cohort/core/device_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <ostream>
#include <utility>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

// Types that may stand alone, as in "/gpu:0"; after "device:" any type may stand.
constexpr std::array<std::string_view, 4> kShortTypes = {"CPU", "GPU", "TPU", "TEST"};

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::toupper(c); });
  return result;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  DeviceSpec parse() {
    std::string_view rest = text_;
    if (rest.empty()) return spec_;
    if (rest.front() == '/') rest.remove_prefix(1);
    for (std::string_view part : split(rest, '/')) parse_part(part);
    return spec_;
  }

 private:
  void parse_part(std::string_view part) {
    const std::vector<std::string_view> words = split(part, ':');
    const std::string_view key = words[0];
    if (key == "job" && words.size() == 2) {
      once("job", job_seen_);
      if (words[1] == "*") return;
      if (!is_name(words[1])) fail("a job's name is letters, digits, '_' and '-', a letter first");
      spec_.job = words[1];
    } else if (key == "replica" && words.size() == 2) {
      once("replica", replica_seen_);
      spec_.replica = number(words[1]);
    } else if (key == "task" && words.size() == 2) {
      once("task", task_seen_);
      spec_.task = number(words[1]);
    } else if (key == "device" && (words.size() == 2 || words.size() == 3)) {
      device(words[1], words.size() == 3 ? words[2] : "*");
    } else if (words.size() <= 2 &&
               std::find(kShortTypes.begin(), kShortTypes.end(), upper(key)) != kShortTypes.end()) {
      device(key, words.size() == 2 ? words[1] : "*");
    } else {
      fail("each part must be job:NAME, replica:N, task:N, device:TYPE:N, cpu:N, gpu:N or tpu:N", part);
    }
  }

  void device(std::string_view type, std::string_view index) {
    if (type_seen_) fail("a device has one type");
    type_seen_ = true;
    if (type != "*") {
      if (!is_name(type)) fail("a device's type is a name such as CPU or GPU");
      spec_.device_type = upper(type);
    }
    spec_.device_index = number(index);
  }

  void once(const char* key, bool& seen) {
    if (seen) fail(std::string("'") + key + "' may be given once");
    seen = true;
  }

  std::optional<int> number(std::string_view digits) const {
    if (digits == "*") return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.front() == '-') {
      fail("a number is 0 or more, or '*'", digits);
    }
    return value;
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw invalid_argument("DeviceSpec", expected, {{"device", in_quotes(text_)}}, kFix);
  }
  [[noreturn]] void fail(const std::string& expected, std::string_view part) const {
    throw invalid_argument("DeviceSpec", expected, {{"device", in_quotes(text_)}, {"part", in_quotes(part)}}, kFix);
  }

  static constexpr const char* kFix = "For example /job:worker/task:1/device:CPU:0, /gpu:0 or CPU:0.";
  std::string_view text_;
  DeviceSpec spec_;
  bool job_seen_ = false, replica_seen_ = false, task_seen_ = false, type_seen_ = false;
};

}  // namespace

DeviceSpec DeviceSpec::from_string(std::string_view text) { return Parser(text).parse(); }

std::string DeviceSpec::to_string() const {
  std::string text;
  if (job) text += "/job:" + *job;
  if (replica) text += "/replica:" + std::to_string(*replica);
  if (task) text += "/task:" + std::to_string(*task);
  if (device_type || device_index) {
    text += "/device:" + device_type.value_or("*") + ":" + (device_index ? std::to_string(*device_index) : "*");
  }
  return text;
}

DeviceSpec DeviceSpec::make_merged_spec(const DeviceSpec& other) const {
  DeviceSpec merged = *this;
  if (other.job) merged.job = other.job;
  if (other.replica) merged.replica = other.replica;
  if (other.task) merged.task = other.task;
  if (other.device_type) merged.device_type = other.device_type;
  if (other.device_index) merged.device_index = other.device_index;
  return merged;
}

std::ostream& operator<<(std::ostream& out, const DeviceSpec& spec) { return out << spec.to_string(); }

std::string canonicalize(std::string_view device, std::string_view defaults) {
  const DeviceSpec base{.job = "localhost", .replica = 0, .task = 0, .device_type = "CPU", .device_index = 0};
  return base.make_merged_spec(DeviceSpec::from_string(defaults))
      .make_merged_spec(DeviceSpec::from_string(device))
      .to_string();
}

DeviceScope::DeviceScope(const DeviceSpec& spec)
    : own_(spec), merged_(current_device_spec().make_merged_spec(spec)), innermost_(this) {}
DeviceScope::DeviceScope(DeviceFunction function)
    : merged_(current_device_spec()), function_(std::move(function)), innermost_(this) {}

DeviceScope device(std::string_view spec) { return DeviceScope(DeviceSpec::from_string(spec)); }
DeviceScope device(DeviceFunction function) { return DeviceScope(std::move(function)); }

DeviceSpec current_device_spec() {
  const DeviceScope* scope = DeviceScope::Innermost::current();
  return scope ? scope->spec() : DeviceSpec{};
}

DeviceSpec device_for(DeviceRequest request) {
  for (const auto* scope = DeviceScope::Innermost::innermost(); scope; scope = scope->outer()) {
    const DeviceScope& each = *scope->value();
    request.device = each.function_ ? each.function_(request) : each.own_.make_merged_spec(request.device);
  }
  return std::move(request.device);
}

Device* scoped_local_device() {
  DeviceScope* scope = DeviceScope::Innermost::current();
  if (!scope) return nullptr;
  const DeviceSpec& spec = scope->merged_;
  if (!scope->local_ && spec.device_type && !spec.job && !spec.replica && !spec.task) {
    scope->local_ = &device_named(*spec.device_type + ":" + std::to_string(spec.device_index.value_or(0)));
  }
  return scope->local_;
}

}  // namespace cohort
