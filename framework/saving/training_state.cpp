#include "cohort/saving/training_state.h"

#include <zlib.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/timeline.h"
#include "cohort/saving/atomic_file.h"
#include "cohort/saving/hdf5_file.h"
#include "cohort/saving/weights_file.h"

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "the checksum is written as it stands in memory");

const std::string kGroup = "cohort_training_state";
// Behind the last byte that HDF5 looks at.
struct Trailer {
  std::array<char, 12> magic = {'c', 'o', 'h', 'o', 'r', 't', ' ', 's', 't', 'a', 't', 'e'};
  std::uint32_t checksum = 0;
};
static_assert(sizeof(Trailer) == 16);

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Error damaged(const std::string& path, std::string_view problem) {
  return Error(ErrorCode::DataLoss, "file '" + path + "'",
               "the whole state of a training run of this model is expected", {{"problem", problem}});
}

// The metrics' states, in the model's order.
Variables metric_states(const Model& model) {
  Variables states;
  for (const Ref<Metric>& metric : model.metrics()) {
    states.insert(states.end(), metric->variables().begin(), metric->variables().end());
  }
  return states;
}

std::string metric_path(std::size_t number) { return kGroup + "/metrics/" + std::to_string(number); }

std::string checked_image(const std::string& path) {
  std::string bytes = read_file(path);
  Trailer trailer;
  if (bytes.size() < sizeof trailer) throw damaged(path, "it is too short");
  const std::size_t size = bytes.size() - sizeof trailer;
  std::memcpy(&trailer, bytes.data() + size, sizeof trailer);
  if (trailer.magic != Trailer{}.magic) throw damaged(path, "it is cut short, or another kind of file");
  bytes.resize(size);
  if (trailer.checksum != checksum_of(bytes)) throw damaged(path, "its checksum does not fit");
  return bytes;
}

Position read_position(const Hdf5File& file) {
  const std::vector<std::uint8_t> bytes = file.read(kGroup + "/position").to_vector<std::uint8_t>();
  return parse_position({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Weights alone would do for Keras; a run that goes on needs the very optimizer it had.
void check_optimizer(const Model& model, const Hdf5File& file) {
  const Optimizer& optimizer = *model.optimizer();
  const bool stored = file.exists("optimizer/vars");
  if (stored != optimizer.built()) {
    throw damaged(file.name(), stored ? "the optimizer has no state" : "it holds no state of the optimizer");
  }
  if (!stored) return;
  const std::string name = file.string_attribute("optimizer/vars", "name");
  const auto count = static_cast<std::size_t>(file.numbered_members("optimizer/vars"));
  if (name != optimizer.name() || count != optimizer.variables().size()) {
    throw damaged(file.name(), "the optimizer is '" + optimizer.name() + "' with " +
                                   std::to_string(optimizer.variables().size()) + " variables, not '" + name +
                                   "' with " + std::to_string(count));
  }
}

std::vector<std::pair<Variable, Tensor>> read_metrics(const Model& model, const Hdf5File& file) {
  const Variables states = metric_states(model);
  if (static_cast<std::size_t>(file.numbered_members(kGroup + "/metrics")) != states.size()) {
    throw damaged(file.name(), "it was written with other metrics");
  }
  std::vector<std::pair<Variable, Tensor>> values;
  for (std::size_t i = 0; i < states.size(); ++i) {
    Tensor value = file.read(metric_path(i));
    if (value.shape() != states[i].shape() || value.dtype() != states[i].dtype()) {
      throw damaged(file.name(), "it was written with other metrics");
    }
    values.emplace_back(states[i], std::move(value));
  }
  return values;
}

}  // namespace

void write_training_state(const Model& model, const Position& position, const std::string& path) {
  const TimelineSpan span("file", "write training state");
  Hdf5File file = Hdf5File::create_image(path);
  write_weights(model, file);
  const std::string where = serialize(position);
  file.write(kGroup + "/position", Tensor::of(std::vector<std::uint8_t>(where.begin(), where.end()),
                                              {static_cast<std::int64_t>(where.size())}));
  if (position.mid_epoch()) {
    const Variables states = metric_states(model);
    for (std::size_t i = 0; i < states.size(); ++i) file.write(metric_path(i), read_now(states[i]));
  }
  std::string bytes = file.image();
  const Trailer trailer{.checksum = checksum_of(bytes)};
  bytes.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
  write_file_atomically(path, bytes);
}

Position read_training_state(Model& model, const std::string& path) {
  // HDF5 refuses to open an image under the name of a file on the disk.
  const Hdf5File file = Hdf5File::open_image(checked_image(path), path + " (in memory)");
  if (!file.exists(kGroup + "/position")) throw damaged(path, "it holds no position");
  const Position position = read_position(file);
  check_optimizer(model, file);
  std::vector<std::pair<Variable, Tensor>> metrics;
  if (position.mid_epoch()) metrics = read_metrics(model, file);
  read_weights(model, file);
  for (const auto& [variable, value] : metrics) write_now(variable, value);
  return position;
}

}  // namespace cohort
