#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/data/indexed_elements.h"

namespace cohort::datasets {

// A feature that is taken out of Examples.
struct ParsedFeature {
  std::string name;
  DType dtype = DType::Float32;  // float32, int64 or string
  Shape shape;                   // of its values, or of one part of a sequence
  bool sequence = false;         // has any number of such parts
  Tensor default_value;          // of this shape, or one value for the whole shape or
                                 // the padding; undefined: none
};

// Where the parts of a sequence are: read when the longest is known.
struct SequenceInExample {
  std::string_view list;
  std::int64_t values = 0;
};

// Where the values of one feature go, row by row.
struct FeatureRows {
  char* values = nullptr;          // of float32 and int64
  std::size_t row_bytes = 0;       // of theirs
  std::string* strings = nullptr;  // of string
  SequenceInExample* sequences = nullptr;
};

// Takes features out of serialised tf.train.Examples by walking their bytes; believes no length. Thread-safe.
class ExampleParser {
 public:
  // Throws, naming `who`, for features that cannot be.
  ExampleParser(const char* who, std::vector<ParsedFeature> features);

  ExampleParser(const ExampleParser&) = delete;

  const std::vector<ParsedFeature>& features() const { return features_; }

  // What one thread keeps from one Example to the next.
  class Memory {
   public:
    void make_room_like(const Memory& other) {
      places_ = other.places_;
      seen_ = other.seen_;
    }
    void reserve(std::size_t) {}

   private:
    friend class ExampleParser;
    // What came at a place of the Example before: mostly the same comes there again, up to its values.
    struct Place {
      std::uint32_t feature = UINT32_MAX;
      std::string before;      // the bytes before its packed values; empty: its
                               // values come otherwise
      std::size_t values = 0;  // bytes of these
    };
    std::vector<Place> places_;
    std::vector<char> seen_;
  };
  // How an Example is named in errors.
  struct Name {
    const ElementKey* element = nullptr;
    std::size_t row = 0;
  };

  // Writes the values of an Example into row `row`.
  void parse(std::string_view example, std::span<const FeatureRows> rows, std::size_t row, const Name& name,
             Memory& memory) const;
  // Writes the values of a sequence one behind the other.
  void read_sequence(std::size_t feature, const SequenceInExample& sequence, char* values, std::string* strings) const;

 private:
  // The number of a feature, UINT32_MAX for one that is not asked for.
  std::uint32_t find(std::string_view key, std::size_t place, Memory& memory) const;
  // Reads an entry that looks like the one at this place of the Example before; its bytes, 0 when it does not.
  std::size_t read_as_before(std::string_view entries, std::size_t place, std::span<const FeatureRows> rows,
                             std::size_t row, Memory& memory) const;
  // Makes the entry that was read the one that is expected at this place.
  void remember(std::string_view entry, std::string_view list, std::size_t place, Memory& memory) const;
  // Reads the list of values, which it gives back.
  std::string_view read_feature(std::size_t feature, std::string_view bytes, const FeatureRows& rows, std::size_t row,
                                const Name& name, Memory& memory) const;
  void write_default(std::size_t feature, const FeatureRows& rows, std::size_t row, const Name& name) const;

  const char* who_;
  std::vector<ParsedFeature> features_;
  std::vector<std::size_t> widths_;  // values of a row
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
};

}  // namespace cohort::datasets
