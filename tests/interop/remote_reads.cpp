#include "tests/interop/remote_reads.h"

#include <cstdio>

#include "cohort/core/error.h"
#include "cohort/datasets/sources/fixed_length_records.h"
#include "cohort/files/data_root.h"
#include "cohort/files/remote_file.h"

namespace cohort::interop {

void print_remote_reads(const std::vector<std::string>& arguments) try {
  const RemoteFile file("remote", arguments.at(0), std::nullopt,
                        {.attempts = 3,
                         .first_wait = std::chrono::milliseconds(10),
                         .deadline = std::chrono::milliseconds(1000),
                         .read_ahead = 1000});
  std::printf("size %llu\n", static_cast<unsigned long long>(file.size()));
  for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
    std::string bytes(std::stoul(arguments[i + 1]), '\0');
    bytes.resize(file.read_at(std::stoull(arguments[i]), bytes.data(), bytes.size()));
    std::printf("bytes ");
    for (const char byte : bytes) std::printf("%02x", static_cast<unsigned char>(byte));
    std::printf("\n");
  }
} catch (const Error& error) {
  std::printf("error %s %s\n", to_string(error.code()), error.what());
}

void print_sent_records(const std::vector<std::string>& arguments) try {
  const std::string chain = serialize(datasets::fixed_length_records(arguments.at(1), 256));
  const DataRootScope scope(make_data_roots({arguments.at(0)}, ""));
  std::int64_t records = 0;
  for (const Element& record : parse_dataset(chain)) records += record.flatten().size() == 1;
  std::printf("records %lld\n", static_cast<long long>(records));
} catch (const Error& error) {
  std::printf("error %s %s\n", to_string(error.code()), error.what());
}

}  // namespace cohort::interop
