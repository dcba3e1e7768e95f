#include <map>
#include <set>

#include "cohort/saving/hdf5/hdf5_bytes.h"
#include "cohort/saving/hdf5/hdf5_file_state.h"

// Strings of any length lie in heaps: a dataset or attribute holds a length, a heap's address and a number in it for
// each. libhdf5 1.10 follows these without a look and can be led outside its memory, so they are checked here first.
namespace cohort {
namespace {

constexpr std::uint64_t kStringReferenceBytes = 16;
constexpr std::uint64_t kLargestStringTotal = std::uint64_t{4} << 30;

// Sizes of a heap's objects by their numbers; nothing where the heap is damaged.
std::optional<std::map<std::uint64_t, std::uint64_t>> heap_objects(const Hdf5Bytes& bytes, std::uint64_t address) {
  const auto head = bytes.at(address, 16);
  if (!head || head->compare(0, 4, "GCOL") != 0 || (*head)[4] != 1) return std::nullopt;
  const std::uint64_t size = number_at(*head, 8, 8);
  if (size < 16 || size > bytes.size()) return std::nullopt;
  const auto heap = bytes.at(address, size);
  if (!heap) return std::nullopt;
  std::map<std::uint64_t, std::uint64_t> objects;
  std::uint64_t place = 16;
  while (place + 16 <= size) {
    const std::uint64_t number = number_at(*heap, place, 2), length = number_at(*heap, place + 8, 8);
    if (number == 0) {  // the free rest, its own head included; the library would go on behind a shorter one
      if (length != size - place) return std::nullopt;
      return objects;
    }
    if (length > size - place - 16 || !objects.emplace(number, length).second) return std::nullopt;
    place += 16 + (length + 7) / 8 * 8;
    if (place > size) return std::nullopt;
  }
  return objects;
}

bool good_references(const Hdf5Bytes& bytes, const std::string& references) {
  std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> heaps;
  std::uint64_t total = 0;
  for (std::size_t place = 0; place + kStringReferenceBytes <= references.size(); place += kStringReferenceBytes) {
    const std::uint64_t length = number_at(references, place, 4), address = number_at(references, place + 4, 8);
    if (address == 0) continue;  // no string
    auto known = heaps.find(address);
    if (known == heaps.end()) {
      auto objects = heap_objects(bytes, address);
      if (!objects) return false;
      known = heaps.emplace(address, std::move(*objects)).first;
    }
    const auto object = known->second.find(number_at(references, place + 12, 4));
    total += length;
    if (object == known->second.end() || object->second != length || total > kLargestStringTotal) return false;
  }
  return true;
}

// Walks the messages of an object's header, in all its pieces.
class HeaderReader {
 public:
  explicit HeaderReader(const Hdf5Bytes& bytes) : bytes_(&bytes) {}

  // The bytes of the attribute's values; nothing where they are not found in a sound header.
  std::optional<std::string> attribute(std::uint64_t address, const std::string& name) {
    const auto head = bytes_->at(address, 16);
    if (!head) return std::nullopt;
    if (head->compare(0, 4, "OHDR") == 0) {
      version_ = 2;
      flags_ = static_cast<unsigned char>((*head)[5]);
      const std::uint64_t before = 6u + ((flags_ & 0x20) ? 16 : 0) + ((flags_ & 0x10) ? 4 : 0);
      const std::size_t width = std::size_t{1} << (flags_ & 3);
      const auto size = bytes_->at(address + before, width);
      if (!size) return std::nullopt;
      return in_piece(address + before + width, number_at(*size, 0, width), name);
    }
    if ((*head)[0] != 1) return std::nullopt;
    return in_piece(address + 16, number_at(*head, 8, 4), name);
  }

 private:
  std::optional<std::string> in_piece(std::uint64_t address, std::uint64_t size, const std::string& name) {
    if (!seen_.insert(address).second || seen_.size() > 1000) return std::nullopt;
    const auto piece = bytes_->at(address, size);
    if (!piece) return std::nullopt;
    const std::size_t head = version_ == 1 ? 8 : 4u + ((flags_ & 4) ? 2 : 0);
    std::size_t place = 0;
    while (place + head <= piece->size()) {
      const std::uint64_t type = number_at(*piece, place, version_ == 1 ? 2 : 1);
      const std::uint64_t length = number_at(*piece, place + (version_ == 1 ? 2 : 1), 2);
      const auto flags = static_cast<unsigned char>((*piece)[place + (version_ == 1 ? 4 : 3)]);
      place += head;
      if (length > piece->size() - place) return std::nullopt;
      const std::string message = piece->substr(place, length);
      place += length;
      if (type == 0x0c && (flags & 2) == 0) {
        if (auto values = values_of(message, name)) return values;
      } else if (type == 0x10 && length >= 16) {
        std::uint64_t next = number_at(message, 0, 8), bytes = number_at(message, 8, 8);
        if (version_ == 2) {  // between a signature and a checksum
          if (bytes < 8) return std::nullopt;
          next += 4, bytes -= 8;
        }
        if (auto values = in_piece(next, bytes, name)) return values;
      }
    }
    return std::nullopt;
  }

  // The values of the attribute that a message describes, if it is the one of this name.
  static std::optional<std::string> values_of(const std::string& message, const std::string& name) {
    if (message.size() < 9) return std::nullopt;
    const int version = message[0];
    if (version < 1 || version > 3) return std::nullopt;
    const auto padded = [version](std::uint64_t size) { return version == 1 ? (size + 7) / 8 * 8 : size; };
    const std::uint64_t name_size = number_at(message, 2, 2);
    const std::uint64_t begin = version == 3 ? 9 : 8;
    const std::uint64_t values =
        begin + padded(name_size) + padded(number_at(message, 4, 2)) + padded(number_at(message, 6, 2));
    if (values > message.size() || name_size != name.size() + 1) return std::nullopt;
    if (message.compare(begin, name.size(), name) != 0) return std::nullopt;
    return message.substr(values);
  }

  const Hdf5Bytes* bytes_;
  int version_ = 1;
  unsigned flags_ = 0;
  std::set<std::uint64_t> seen_;
};

}  // namespace

void Hdf5File::State::check_attribute_strings(hid_t owner, const std::string& attribute_name, std::int64_t count,
                                              const std::string& path) const {
  const Hdf5Bytes bytes(file);
  H5O_info_t about;
  std::optional<std::string> references;
  if (bytes.wide() && H5Oget_info(owner, &about) >= 0) {
    references = HeaderReader(bytes).attribute(about.addr, attribute_name);
  }
  const std::uint64_t wanted = static_cast<std::uint64_t>(count) * kStringReferenceBytes;
  if (!references || references->size() < wanted || !good_references(bytes, references->substr(0, wanted))) {
    throw data_loss(path, "must have sound strings as attribute", {{"attribute", attribute_name}});
  }
}

void Hdf5File::State::check_dataset_strings(hid_t data, std::int64_t count, const std::string& path) const {
  const Hdf5Bytes bytes(file);
  const Hdf5Handle plan(H5Dget_create_plist(data), H5Pclose);
  if (count == 0) return;
  if (!bytes.wide() || H5Pget_layout(plan) != H5D_CONTIGUOUS) {
    throw data_loss(path, "must hold strings of any length in one piece", {{"strings", count}});
  }
  const Hdf5Handle file_plan(H5Fget_create_plist(file), H5Pclose);
  hsize_t user_block = 0;
  const haddr_t place = H5Dget_offset(data);
  const bool known = place != HADDR_UNDEF && H5Pget_userblock(file_plan, &user_block) >= 0 && place >= user_block;
  const auto references =
      known ? bytes.at(place - user_block, static_cast<std::uint64_t>(count) * kStringReferenceBytes) : std::nullopt;
  if (!references || !good_references(bytes, *references)) throw data_loss(path, "must hold sound strings");
}

}  // namespace cohort
