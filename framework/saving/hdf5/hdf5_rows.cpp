#include "cohort/saving/hdf5/hdf5_rows.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <list>
#include <map>
#include <vector>

#include "cohort/saving/hdf5/hdf5_file_state.h"
#include "cohort/saving/hdf5/hdf5_types.h"

namespace cohort {
namespace {

using Sizes = std::array<hsize_t, Shape::kMaxRank>;
using Bytes = std::vector<char>;

// Rows that are read and kept together: those of a chunk, or as many as make a read worth while.
constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kKeptBytes = std::uint64_t{64} << 20;
constexpr std::size_t kFewestKept = 4;

// The first bytes of all values, then the second ones, ...: put together again.
void unshuffle(const Bytes& planes, std::size_t width, Bytes& values) {
  const std::size_t count = planes.size() / width;
  for (std::size_t byte = 0; byte < width; ++byte) {
    for (std::size_t i = 0; i < count; ++i) values[i * width + byte] = planes[byte * count + i];
  }
}

}  // namespace

struct Hdf5Rows::State {
  // How chunks are packed.
  struct Packing {
    bool deflated = false, shuffled = false;
  };
  // A chunk as it lies in the file.
  struct RawChunk {
    Sizes offset{};
    Bytes bytes;
  };

  std::shared_ptr<const Hdf5File> file;
  std::string path;
  Hdf5Handle data;
  TensorSpec spec;
  int rank = 0;
  std::uint64_t rows = 0, row_bytes = 0, block_rows = 1;
  std::size_t width = 1;
  bool by_chunks = false;  // read as they lie in the file
  Packing packing;
  Sizes chunk{};

  using Block = std::shared_ptr<const Bytes>;
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_future<Block>> kept;
  std::list<std::uint64_t> order;  // the last one used first
  std::size_t most_kept = kFewestKept;

  const Hdf5File::State& hdf5() const { return file->state(); }

  void open() {
    const Hdf5Lock lock;
    data = hdf5().dataset(path);
    const Hdf5Handle type(H5Dget_type(data), H5Tclose), space(H5Dget_space(data), H5Sclose);
    spec = {hdf5().dtype_of(type, Hdf5File::State::has_attribute(data, "bool"), path), hdf5().shape_of(space, path)};
    rank = spec.shape.rank();
    if (spec.dtype == DType::String || rank == 0) {
      throw unimplemented(hdf5().name, "'" + path + "' must hold numbers and have at least one axis",
                          {{"dataset", spec}});
    }
    rows = static_cast<std::uint64_t>(spec.shape[0]);
    width = size_of(spec.dtype);
    row_bytes = static_cast<std::uint64_t>(spec.shape.slice(1).num_elements()) * width;
    hdf5().check_storage(data, static_cast<std::uint64_t>(spec.shape.num_elements()) * H5Tget_size(type), path);
    block_rows = std::max<std::uint64_t>(1, kBlockBytes / std::max<std::uint64_t>(row_bytes, 1));
    look_at_chunks(type);
    const std::uint64_t block_bytes = std::max<std::uint64_t>(block_rows * row_bytes, 1);
    most_kept = std::max<std::size_t>(kFewestKept, static_cast<std::size_t>(kKeptBytes / block_bytes));
  }
  void look_at_chunks(hid_t type) {
    const Hdf5Handle plan(H5Dget_create_plist(data), H5Pclose);
    if (H5Pget_layout(plan) != H5D_CHUNKED || H5Pget_chunk(plan, rank, chunk.data()) != rank) return;
    block_rows = std::min<std::uint64_t>(chunk[0], std::max<std::uint64_t>(rows, 1));
    std::uint64_t bytes = width;
    for (int axis = 0; axis < rank; ++axis) bytes *= std::max<hsize_t>(chunk[static_cast<std::size_t>(axis)], 1);
    const bool as_in_memory = spec.dtype != DType::Bool && H5Tequal(type, hdf5_memory_type(spec.dtype)) > 0;
    by_chunks = as_in_memory && bytes < (std::uint64_t{1} << 32) && knows_filters(plan);
  }
  // Those that h5py writes by itself: shuffle, then deflate.
  bool knows_filters(hid_t plan) {
    const int count = H5Pget_nfilters(plan);
    for (int i = 0; i < count; ++i) {
      unsigned flags = 0, config = 0;
      std::size_t values = 0;
      const H5Z_filter_t filter =
          H5Pget_filter2(plan, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, &config);
      if (filter == H5Z_FILTER_SHUFFLE && !packing.deflated && !packing.shuffled) {
        packing.shuffled = true;
      } else if (filter == H5Z_FILTER_DEFLATE && !packing.deflated) {
        packing.deflated = true;
      } else {
        return false;
      }
    }
    return true;
  }

  std::uint64_t rows_of(std::uint64_t block) const { return std::min(block_rows, rows - block * block_rows); }

  // One thread reads a block; others who want it wait. What failed is tried again by the next.
  Block get(std::uint64_t block) {
    std::promise<Block> promise;
    std::shared_future<Block> found;
    {
      std::lock_guard lock(mutex);
      const auto known = kept.find(block);
      if (known != kept.end()) {
        found = known->second;
        order.remove(block);
      } else {
        kept.emplace(block, promise.get_future().share());
      }
      order.push_front(block);
      if (order.size() > most_kept) {
        kept.erase(order.back());
        order.pop_back();
      }
    }
    if (found.valid()) return found.get();
    try {
      Block values = std::make_shared<const Bytes>(read_block(block));
      promise.set_value(values);
      return values;
    } catch (...) {
      promise.set_exception(std::current_exception());
      std::lock_guard lock(mutex);
      kept.erase(block);
      order.remove(block);
      throw;
    }
  }

  Bytes read_block(std::uint64_t block) const {
    Bytes values(static_cast<std::size_t>(rows_of(block) * row_bytes));
    std::vector<RawChunk> chunks;
    if (values.empty()) return values;
    if (!by_chunks || !read_chunks(block, chunks)) {
      read_values(block, values);
      return values;
    }
    const std::size_t whole = chunk_bytes();
    Bytes unpacked(whole), other(packing.shuffled ? whole : 0);
    for (const RawChunk& raw : chunks) {
      if (packing.deflated) {
        uLongf size = whole;
        const int done = ::uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &size,
                                      reinterpret_cast<const Bytef*>(raw.bytes.data()), raw.bytes.size());
        if (done != Z_OK || size != whole) throw damaged(raw);
      } else {
        if (raw.bytes.size() != whole) throw damaged(raw);
        unpacked = raw.bytes;
      }
      if (packing.shuffled) {
        unshuffle(unpacked, width, other);
        unpacked.swap(other);
      }
      place(raw.offset, unpacked, block, values);
    }
    return values;
  }
  Error damaged(const RawChunk& raw) const {
    return Error(ErrorCode::DataLoss, "Hdf5File '" + file->name() + "'",
                 "'" + path + "' must have chunks that are whole", {{"first row of the chunk", raw.offset[0]}});
  }
  std::size_t chunk_bytes() const {
    std::size_t bytes = width;
    for (int axis = 0; axis < rank; ++axis) bytes *= static_cast<std::size_t>(chunk[static_cast<std::size_t>(axis)]);
    return bytes;
  }

  // Reads the chunks that hold the block; false where one was never written or not packed like the others.
  bool read_chunks(std::uint64_t block, std::vector<RawChunk>& chunks) const {
    const Hdf5Lock lock;
    Sizes at{};
    at[0] = block * block_rows;
    for (bool more = true; more; more = next_chunk(at)) {
      hsize_t bytes = 0;
      std::uint32_t skipped = 0;
      if (H5Dget_chunk_storage_size(data, at.data(), &bytes) < 0 || bytes == 0 || bytes > hdf5().bytes_in_file()) {
        return false;
      }
      RawChunk raw{at, Bytes(static_cast<std::size_t>(bytes))};
      if (H5Dread_chunk(data, H5P_DEFAULT, at.data(), &skipped, raw.bytes.data()) < 0) {
        throw hdf5().data_loss(path, "must be readable", {{"row", at[0]}});
      }
      if (skipped != 0) return false;
      chunks.push_back(std::move(raw));
    }
    return true;
  }
  // Goes on along all axes but the first.
  bool next_chunk(Sizes& at) const {
    for (int axis = rank - 1; axis > 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      at[a] += chunk[a];
      if (at[a] < static_cast<hsize_t>(spec.shape[axis])) return true;
      at[a] = 0;
    }
    return false;
  }
  // Copies the part of a chunk that is in the dataset to where it belongs among the rows.
  void place(const Sizes& offset, const Bytes& from, std::uint64_t block, Bytes& values) const {
    Sizes size{}, at{};
    for (int axis = 0; axis < rank; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      size[a] = std::min<hsize_t>(chunk[a], static_cast<hsize_t>(spec.shape[axis]) - offset[a]);
    }
    size[0] = rows_of(block);
    const auto last = static_cast<std::size_t>(rank - 1);
    for (bool more = true; more;) {
      std::uint64_t source = 0, target = 0;
      for (int axis = 0; axis < rank; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const hsize_t before = axis == 0 ? 0 : offset[a];
        source = source * chunk[a] + at[a];
        target = target * (axis == 0 ? size[0] : static_cast<hsize_t>(spec.shape[axis])) + before + at[a];
      }
      const std::size_t run = rank == 1 ? size[0] : size[last];
      std::memcpy(values.data() + target * width, from.data() + source * width, run * width);
      more = false;
      for (int axis = rank - 2; axis >= 0 && !more; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        more = ++at[a] < size[a];
        if (!more) at[a] = 0;
      }
    }
  }

  // Lets the library read, convert and unpack.
  void read_values(std::uint64_t block, Bytes& values) const {
    const Hdf5Lock lock;
    const Hdf5Handle type(H5Dget_type(data), H5Tclose), space(H5Dget_space(data), H5Sclose);
    Sizes first{}, count{};
    for (int axis = 0; axis < rank; ++axis) {
      count[static_cast<std::size_t>(axis)] = static_cast<hsize_t>(spec.shape[axis]);
    }
    first[0] = block * block_rows;
    count[0] = rows_of(block);
    const Hdf5Handle memory_space(H5Screate_simple(rank, count.data(), nullptr), H5Sclose);
    // h5py's bool is an enumeration, which HDF5 converts to no integer.
    const hid_t memory = H5Tget_class(type) == H5T_ENUM ? static_cast<hid_t>(type) : hdf5_memory_type(spec.dtype);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dread(data, memory, memory_space, space, H5P_DEFAULT, values.data()) < 0) {
      throw hdf5().data_loss(path, "must be readable", {{"row", first[0]}});
    }
    if (spec.dtype == DType::Bool) {
      for (char& byte : values) byte = byte != 0 ? 1 : 0;
    }
  }
};

Hdf5Rows::Hdf5Rows(std::shared_ptr<const Hdf5File> file, const std::string& path) : state_(std::make_unique<State>()) {
  state_->file = std::move(file);
  state_->path = path;
  state_->open();
}
Hdf5Rows::~Hdf5Rows() {
  const Hdf5Lock lock;
  state_->data.close();
}

const TensorSpec& Hdf5Rows::spec() const { return state_->spec; }

void Hdf5Rows::read(std::uint64_t row, char* target) const {
  if (state_->row_bytes == 0) return;
  const State::Block block = state_->get(row / state_->block_rows);
  std::memcpy(target, block->data() + row % state_->block_rows * state_->row_bytes, state_->row_bytes);
}

}  // namespace cohort
