#include "cohort/saving/hdf5/hdf5_file.h"

#include <fstream>
#include <utility>

#include "cohort/core/text.h"
#include "cohort/saving/hdf5/hdf5_bytes.h"
#include "cohort/saving/hdf5/hdf5_file_state.h"

namespace cohort {

std::recursive_mutex& Hdf5Lock::mutex() {
  static std::recursive_mutex mutex;
  // HDF5 prints every error by itself unless told not to.
  static const bool silenced = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)silenced;
  return mutex;
}

Error Hdf5File::State::data_loss(const std::string& path, std::string_view expected,
                                 std::initializer_list<Received> received) const {
  return Error(ErrorCode::DataLoss, titled("Hdf5File", name), in_quotes(rooted(path)) + " " + std::string(expected),
               received);
}

Error Hdf5File::State::no_write(const std::string& path, std::string_view what) const {
  return Error(ErrorCode::ResourceExhausted, titled("Hdf5File", name),
               std::string(what) + " '" + rooted(path) + "' must be written", {},
               "See that it is not there yet, that the file may be written and that the disk is not full.");
}

Hdf5File::Hdf5File(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;
Hdf5File& Hdf5File::operator=(Hdf5File&& other) noexcept {
  const Hdf5Lock lock;
  state_ = std::move(other.state_);
  return *this;
}
Hdf5File::~Hdf5File() {
  const Hdf5Lock lock;
  state_.reset();
}

const Hdf5File::State& Hdf5File::state() const {
  if (!state_ || !state_->file.valid()) throw failed_precondition("Hdf5File", "the file must be open");
  return *state_;
}
const std::string& Hdf5File::name() const { return state_->name; }

Hdf5File Hdf5File::open(const std::string& file) {
  const Hdf5Lock lock;
  auto state = std::make_unique<State>(file);
  state->file = Hdf5Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!state->file.valid()) throw not_found("Hdf5File", "an HDF5 file that can be read is expected", {{"file", file}});
  return Hdf5File(std::move(state));
}

Hdf5File Hdf5File::create(const std::string& file, const std::string& name, std::uint64_t user_block) {
  const Hdf5Lock lock;
  auto state = std::make_unique<State>(name.empty() ? file : name);
  const Hdf5Handle plan(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(plan, user_block);
  // An AtomicFile holds the lock of a file that is being written already.
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access, false, true);
  state->file = Hdf5Handle(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, plan, access), H5Fclose);
  if (!state->file.valid()) {
    throw Error(ErrorCode::ResourceExhausted, "Hdf5File", "the file must be writable", {{"file", state->name}},
                "See that the folder is writable and the disk not full.");
  }
  return Hdf5File(std::move(state));
}

void Hdf5File::forget_user_block(const std::string& file, std::uint64_t user_block) {
  // The superblock's first addresses: where the file begins, free space (unused) and where it ends. All others count
  // from the first.
  constexpr std::size_t kBegin = 24, kEnd = 40, kBytes = 48;
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  std::string block(kBytes, '\0');
  stream.seekg(static_cast<std::streamoff>(user_block)).read(block.data(), kBytes);
  const bool expected = stream && block.starts_with("\x89HDF\r\n\x1a\n") && block[8] == 0 &&
                        number_at(block, kBegin, 8) == user_block && number_at(block, kEnd, 8) >= user_block;
  if (expected) {
    const std::uint64_t end = number_at(block, kEnd, 8) - user_block;
    for (std::size_t i = 0; i < 8; ++i) {
      block[kBegin + i] = '\0';
      block[kEnd + i] = static_cast<char>(end >> (8 * i) & 0xff);
    }
    stream.seekp(static_cast<std::streamoff>(user_block)).write(block.data(), kBytes).flush();
  }
  if (!expected || !stream) {
    throw Error(ErrorCode::ResourceExhausted, titled("Hdf5File", file), "must begin behind its user block", {},
                "See that the disk is not full.");
  }
}

Hdf5File Hdf5File::open_image(std::string bytes, const std::string& name) {
  const Hdf5Lock lock;
  auto state = std::make_unique<State>(name);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, std::size_t{1} << 20, false);
  if (!bytes.empty()) H5Pset_file_image(access, bytes.data(), bytes.size());
  state->file = Hdf5Handle(bytes.empty() ? H5I_INVALID_HID : H5Fopen(name.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  if (!state->file.valid()) {
    throw Error(ErrorCode::DataLoss, "Hdf5File", "the bytes must be an HDF5 file",
                {{"file", name}, {"bytes", bytes.size()}});
  }
  return Hdf5File(std::move(state));
}

Hdf5File Hdf5File::create_image(const std::string& name) {
  const Hdf5Lock lock;
  auto state = std::make_unique<State>(name);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, std::size_t{1} << 20, false);
  state->file = Hdf5Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  if (!state->file.valid()) throw internal_error("Hdf5File", "a file in memory must be made", {{"file", name}});
  return Hdf5File(std::move(state));
}

void Hdf5File::close() {
  const Hdf5Lock lock;
  const bool flushed = H5Fflush(state().file, H5F_SCOPE_GLOBAL) >= 0;
  if (!state_->file.close() || !flushed) throw state_->no_write("", "the file");
}

std::string Hdf5File::image() const {
  const Hdf5Lock lock;
  const State& s = state();
  H5Fflush(s.file, H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(s.file, nullptr, 0);
  std::string bytes(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  if (size <= 0 || H5Fget_file_image(s.file, bytes.data(), bytes.size()) != size) throw s.no_write("", "the image of");
  return bytes;
}

}  // namespace cohort
