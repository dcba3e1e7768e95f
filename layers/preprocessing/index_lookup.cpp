#include "cohort/layers/preprocessing/index_lookup.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "cohort/core/text.h"
#include "cohort/layers/preprocessing/encode_categories.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/text.h"

namespace cohort::layers {
namespace {

Tensor tensor_of(const std::vector<std::string>& tokens) {
  return Tensor::of_strings(tokens, {static_cast<std::int64_t>(tokens.size())});
}
Tensor tensor_of(const std::vector<std::int64_t>& tokens) {
  return Tensor::of(tokens, {static_cast<std::int64_t>(tokens.size())}, cpu());
}
Tensor scalar_of(const std::string& token) { return Tensor::of_strings({token}, {}); }
Tensor scalar_of(std::int64_t token) { return Tensor::of<std::int64_t>({token}, {}, cpu()); }

std::vector<std::string> tokens_of(const Tensor& data, std::string) { return data.to_strings(); }
std::vector<std::int64_t> tokens_of(const Tensor& data, std::int64_t) { return data.to_vector<std::int64_t>(); }

void read_token(const std::string& line, std::string& token, const std::string&) { token = line; }
void read_token(const std::string& line, std::int64_t& token, const std::string& who) {
  try {
    std::size_t end = 0;
    token = std::stoll(line, &end);
    if (end == line.size()) return;
  } catch (const std::exception&) {
  }
  throw invalid_argument(who, "a line of the vocabulary must be an integer", {{"line", line}});
}

bool fits_a_line(const std::string& token) { return token.find_first_of("\r\n") == std::string::npos; }
bool fits_a_line(std::int64_t) { return true; }
const std::string& line_of(const std::string& token) { return token; }
std::string line_of(std::int64_t token) { return std::to_string(token); }

constexpr const char* kVocabularyFile = "vocabulary.txt";
constexpr const char* kWeightsValue = "vars/idf_weights";

template <class Token>
std::vector<Token> tokens_in_lines(std::istream& lines, const std::string& who) {
  std::vector<Token> tokens;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    Token token{};
    read_token(line, token, who);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

template <class Token>
IndexLookupLayer<Token>::IndexLookupLayer(LookupOptions<Token> options) : options_(std::move(options)) {}

template <class Token>
void IndexLookupLayer<Token>::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("invert", options_.invert);
  visitor.field("max_tokens", options_.max_tokens);
  visitor.field("num_oov_indices", options_.num_oov_indices);
  visitor.field("oov_token", options_.oov_token);
  visitor.field("mask_token", options_.mask_token);
  visitor.field("output_mode", options_.output_mode);
  visitor.field("sparse", options_.sparse);
  visitor.field("pad_to_max_tokens", options_.pad_to_max_tokens);
  visitor.field("idf_weights", options_.idf_weights);
  visitor.field("vocabulary", options_.vocabulary);
  if (visitor.reads_config() && options_.vocabulary && options_.vocabulary->empty()) options_.vocabulary.reset();
  if (!tokens_.empty()) saved_size_ = vocabulary_size();
  visitor.field("vocabulary_size", saved_size_);
  visitor.field("oov_method", options_.oov_method);
  visitor.field("salt", options_.salt);
}

template <class Token>
void IndexLookupLayer<Token>::fields_changed() {
  const std::string who = class_name();
  check_output_mode(*this, options_.output_mode, /*with_int=*/true, /*with_tf_idf=*/true);
  refuse_sparse(*this, options_.sparse);
  if (options_.max_tokens && *options_.max_tokens <= 1) {
    throw invalid_argument(who, "max_tokens must be above 1", {{"max_tokens", *options_.max_tokens}});
  }
  if (options_.pad_to_max_tokens && !options_.max_tokens) {
    throw invalid_argument(who, "pad_to_max_tokens needs max_tokens", {{"max_tokens", "None"}});
  }
  if (options_.num_oov_indices < 0) {
    throw invalid_argument(who, "num_oov_indices must not be negative",
                           {{"num_oov_indices", options_.num_oov_indices}});
  }
  if (options_.oov_method != "floormod" && options_.oov_method != "farmhash") {
    throw invalid_argument(who, "oov_method must be 'floormod' or 'farmhash'", {{"oov_method", options_.oov_method}});
  }
  if (options_.salt && options_.salt->size() == 1) options_.salt->push_back(options_.salt->front());
  if (options_.salt && options_.salt->size() != 2) {
    throw invalid_argument(who, "salt must be one number or two", {{"numbers", options_.salt->size()}});
  }
  if (std::is_same_v<Token, std::int64_t> && options_.salt && options_.oov_method != "farmhash") {
    throw invalid_argument(who, "a salt needs oov_method 'farmhash'", {{"oov_method", options_.oov_method}});
  }
  if (options_.invert && options_.output_mode != "int") {
    throw invalid_argument(who, "output_mode must be 'int' with invert", {{"output_mode", options_.output_mode}});
  }
  if (options_.idf_weights && options_.output_mode != "tf_idf") {
    throw invalid_argument(who, "idf_weights need output_mode 'tf_idf'", {{"output_mode", options_.output_mode}});
  }
  if (options_.vocabulary) {
    take_vocabulary(*options_.vocabulary, options_.idf_weights);
    learns_ = false;
  }
}

template <class Token>
void IndexLookupLayer<Token>::take_vocabulary(const std::vector<Token>& vocabulary,
                                              const std::optional<std::vector<double>>& idf_weights) {
  const std::string who = class_name();
  if (vocabulary.empty()) throw invalid_argument(who, "a vocabulary must have tokens", {{"vocabulary", "[]"}});
  if ((options_.output_mode == "tf_idf") != idf_weights.has_value()) {
    throw invalid_argument(who, "idf_weights must be given with output_mode 'tf_idf', and only then",
                           {{"output_mode", options_.output_mode}});
  }
  if (idf_weights && idf_weights->size() != vocabulary.size()) {
    throw invalid_argument(who, "idf_weights must be as many as tokens",
                           {{"idf_weights", idf_weights->size()}, {"vocabulary", vocabulary.size()}});
  }
  std::vector<Token> special(static_cast<std::size_t>(oov_start()), options_.mask_token.value_or(Token{}));
  special.resize(static_cast<std::size_t>(token_start()), options_.oov_token.value_or(Token{}));
  const bool leads = vocabulary.size() >= special.size() && !special.empty() &&
                     std::equal(special.begin(), special.end(), vocabulary.begin());
  std::vector<Token> tokens(vocabulary.begin() + (leads ? token_start() : 0), vocabulary.end());
  std::set<Token> seen;
  for (const Token& token : tokens) {
    if (!seen.insert(token).second) {
      throw invalid_argument(who, "a token may stand in a vocabulary once", {{"token", token}});
    }
    const bool reserved = (options_.mask_token && token == *options_.mask_token) ||
                          (options_.invert && options_.oov_token && token == *options_.oov_token);
    if (reserved) {
      throw invalid_argument(who, "special tokens may only lead a vocabulary", {{"token", token}},
                             "Leave the mask and OOV tokens out.");
    }
  }
  const std::int64_t size = token_start() + static_cast<std::int64_t>(tokens.size());
  if (options_.max_tokens && size > *options_.max_tokens) {
    throw invalid_argument(who, "a vocabulary must not be larger than max_tokens",
                           {{"vocabulary size", size}, {"max_tokens", *options_.max_tokens}});
  }
  tokens_ = std::move(tokens);
  vocabulary_ = tensor_of(tokens_);
  if (idf_weights) take_weights(*idf_weights, leads);
}

template <class Token>
void IndexLookupLayer<Token>::take_weights(std::vector<double> weights, bool with_special_tokens) {
  if (!with_special_tokens) {
    const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
    weights.insert(weights.begin(), static_cast<std::size_t>(token_start()), mean);
  }
  if (options_.pad_to_max_tokens) weights.resize(static_cast<std::size_t>(*options_.max_tokens), 0.0);
  weights_ = std::move(weights);
}

template <class Token>
Tensor IndexLookupLayer<Token>::call(const Tensor& input, const CallContext&) {
  const Tensor vocabulary = vocabulary_.defined() ? vocabulary_ : tensor_of(std::vector<Token>{});
  const Tensor mask = options_.mask_token ? scalar_of(*options_.mask_token) : Tensor();
  if (options_.invert) {
    return ops::lookup_token(input, vocabulary, token_start(), scalar_of(options_.oov_token.value_or(Token{})), mask);
  }
  const bool as_index = options_.output_mode == "int";
  const bool pending = tokens_.empty() && saved_size_ && input.is_symbolic();
  if (!as_index && tokens_.empty() && !options_.pad_to_max_tokens && !pending) {
    throw failed_precondition(title(), "a vocabulary is needed with output_mode " + in_quotes(options_.output_mode), {},
                              "Give a vocabulary, or call adapt() with sample data.");
  }
  const Tensor indices =
      ops::lookup_index(input, {.vocabulary = vocabulary,
                                .first_index = token_start(),
                                .oov_index = oov_start(),
                                .num_oov_indices = options_.num_oov_indices,
                                .hash_oov = options_.oov_method == "farmhash",
                                .salt = options_.salt.value_or(std::vector<std::int64_t>{}),
                                .mask_token = mask,
                                // Beyond all categories: a masked token counts for none.
                                .mask_index = as_index ? 0 : std::numeric_limits<std::int64_t>::max()});
  if (as_index) return indices;
  const std::int64_t depth =
      options_.pad_to_max_tokens ? *options_.max_tokens : (pending ? *saved_size_ : vocabulary_size());
  if (options_.output_mode != "tf_idf") return encode_categories(indices, options_.output_mode, depth, DType::Int64);
  if (static_cast<std::int64_t>(weights_.size()) != depth && !pending) {
    throw failed_precondition(title(), "idf_weights are needed with output_mode 'tf_idf'", {},
                              "Give them with the vocabulary, or call adapt() with sample data.");
  }
  std::vector<float> weights(weights_.begin(), weights_.end());
  weights.resize(static_cast<std::size_t>(depth));
  return encode_categories(indices, "count", depth, DType::Float32) * Tensor::of(weights, {depth});
}

template <class Token>
void IndexLookupLayer<Token>::adapt(const Tensor& data) {
  reset_state();
  update_state(data);
  finalize_state();
}

template <class Token>
void IndexLookupLayer<Token>::adapt(const Dataset& data) {
  reset_state();
  Tensors element;
  for (const auto iterator = data.make_iterator(); iterator->next(element);) update_state(element.at(0));
  finalize_state();
}

template <class Token>
void IndexLookupLayer<Token>::reset_state() {
  if (!learns_) {
    throw failed_precondition(title(), "a layer whose vocabulary is given cannot adapt", {},
                              "Leave the vocabulary out.");
  }
  counts_.clear();
  document_counts_.clear();
  documents_ = 0;
}

template <class Token>
void IndexLookupLayer<Token>::update_state(const Tensor& data) {
  const std::vector<Token> tokens = tokens_of(data, Token{});
  for (const Token& token : tokens) ++counts_[token];
  if (options_.output_mode != "tf_idf") return;
  const std::size_t documents = data.rank() < 2 ? 1 : static_cast<std::size_t>(data.shape()[0]);
  const std::size_t length = documents == 0 ? 0 : tokens.size() / documents;
  for (std::size_t d = 0; d < documents; ++d) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(d * length);
    for (const Token& token : std::set<Token>(begin, begin + static_cast<std::ptrdiff_t>(length))) {
      ++document_counts_[token];
    }
  }
  documents_ += static_cast<std::int64_t>(documents);
}

template <class Token>
void IndexLookupLayer<Token>::finalize_state() {
  if (options_.mask_token) counts_.erase(*options_.mask_token);
  if (options_.oov_token) counts_.erase(*options_.oov_token);
  if (counts_.empty()) throw invalid_argument(title(), "adapt() needs data with tokens", {{"tokens", 0}});
  std::vector<std::pair<std::int64_t, Token>> ranked;
  for (const auto& [token, count] : counts_) ranked.emplace_back(count, token);
  // The most frequent first; of equally frequent ones, as in Keras, the last of the alphabet.
  std::sort(ranked.rbegin(), ranked.rend());
  if (options_.max_tokens) {
    ranked.resize(std::min(ranked.size(),
                           static_cast<std::size_t>(std::max<std::int64_t>(*options_.max_tokens - token_start(), 0))));
  }
  std::vector<Token> tokens;
  std::optional<std::vector<double>> weights;
  for (const auto& [count, token] : ranked) tokens.push_back(token);
  if (options_.output_mode == "tf_idf") {
    weights.emplace();
    for (const Token& token : tokens) {
      const auto seen = static_cast<double>(document_counts_[token]);
      weights->push_back(std::log(1.0 + static_cast<double>(documents_) / (1.0 + seen)));
    }
  }
  set_vocabulary(std::move(tokens), std::move(weights));
  reset_state();
}

template <class Token>
void IndexLookupLayer<Token>::set_vocabulary(std::vector<Token> vocabulary,
                                             std::optional<std::vector<double>> idf_weights) {
  take_vocabulary(vocabulary, idf_weights);
  // Keras keeps in the config what was given there; what was learned is a file with a line for each token.
  if (learns_ && std::all_of(tokens_.begin(), tokens_.end(), [](const Token& token) { return fits_a_line(token); })) {
    options_.vocabulary.reset();
    options_.idf_weights.reset();
    return;
  }
  options_.vocabulary = std::move(vocabulary);
  options_.idf_weights = std::move(idf_weights);
}

template <class Token>
void IndexLookupLayer<Token>::set_vocabulary_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw not_found(class_name(), "the vocabulary file must be readable", {{"path", path}});
  learns_ = false;
  set_vocabulary(tokens_in_lines<Token>(file, class_name()));
}

template <class Token>
LayerAssets IndexLookupLayer<Token>::assets() const {
  LayerAssets assets;
  if (options_.output_mode == "tf_idf" && !weights_.empty()) {
    assets.values[kWeightsValue] = Tensor::of(std::vector<float>(weights_.begin(), weights_.end()),
                                              {static_cast<std::int64_t>(weights_.size())}, cpu());
  }
  if (options_.vocabulary || tokens_.empty()) return assets;
  std::string& lines = assets.files[kVocabularyFile];
  const std::vector<Token> vocabulary = get_vocabulary();
  for (std::size_t i = 0; i < vocabulary.size(); ++i) lines.append(i == 0 ? "" : "\n").append(line_of(vocabulary[i]));
  return assets;
}

template <class Token>
void IndexLookupLayer<Token>::restore_assets(const LayerAssets& assets) {
  const auto found = assets.files.find(kVocabularyFile);
  if (options_.vocabulary || found == assets.files.end()) return;
  // As Keras reads it: empty lines at the end are none.
  std::istringstream lines(found->second.substr(0, found->second.find_last_not_of("\r\n") + 1));
  std::vector<Token> vocabulary = tokens_in_lines<Token>(lines, class_name());
  std::optional<std::vector<double>> weights;
  if (const auto stored = assets.values.find(kWeightsValue);
      options_.output_mode == "tf_idf" && stored != assets.values.end()) {
    weights = stored->second.template to_vector<double>();
    // Padding behind the last token is made again.
    if (options_.pad_to_max_tokens && weights->size() > vocabulary.size()) weights->resize(vocabulary.size());
  }
  set_vocabulary(std::move(vocabulary), std::move(weights));
}

template <class Token>
std::vector<Token> IndexLookupLayer<Token>::get_vocabulary(bool include_special_tokens) const {
  if (!include_special_tokens) return tokens_;
  std::vector<Token> all(static_cast<std::size_t>(oov_start()), options_.mask_token.value_or(Token{}));
  all.resize(static_cast<std::size_t>(token_start()), options_.oov_token.value_or(Token{}));
  all.insert(all.end(), tokens_.begin(), tokens_.end());
  return all;
}

template <class Token>
std::int64_t IndexLookupLayer<Token>::vocabulary_size() const {
  return token_start() + static_cast<std::int64_t>(tokens_.size());
}

template class IndexLookupLayer<std::string>;
template class IndexLookupLayer<std::int64_t>;

}  // namespace cohort::layers
