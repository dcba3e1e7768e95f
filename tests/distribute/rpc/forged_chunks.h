#pragma once

#include <cstring>
#include <string>

#include "cohort/distribute/rpc/wire.h"

namespace cohort::distribute::rpc::test {

// A chunk behind its length, as carriers beside gRPC send it.
inline std::string chunk_of(const wire::ChunkHeader& header, const std::string& payload) {
  const auto length = static_cast<std::uint32_t>(sizeof header + payload.size());
  std::string bytes(sizeof length + sizeof header, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  std::memcpy(bytes.data() + sizeof length, &header, sizeof header);
  return bytes + payload;
}

inline std::string prologue_of(const wire::Prologue& prologue) {
  return std::string(reinterpret_cast<const char*>(&prologue), sizeof prologue);
}

}  // namespace cohort::distribute::rpc::test
