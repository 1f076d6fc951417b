#include "mfl/trained/model_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/base/json.h"
#include "mfl/data/npy_header.h"
#include "mfl/data/text.h"
#include "mfl/model/tensors.h"
#include "mfl/trained/zip.h"

namespace mfl {
namespace {

constexpr std::string_view kFormat = "mfl-model", kMetadata = "mfl.json";
constexpr int kModelVersion = 1;
constexpr const char* kHint = "export the model again with mfl model export";

template <class T>
std::string array_bytes(std::span<const double> numbers, const std::vector<std::size_t>& shape) {
  const Vector<T> stored(numbers.begin(), numbers.end());
  return make_npy_header(sizeof(T) == sizeof(float) ? "<f4" : "<f8", shape) + number_bytes(stored);
}

ZipMember array_of(const std::string& name, std::span<const double> numbers,
                   const std::vector<std::size_t>& shape, Precision precision) {
  return {name + ".npy", precision == Precision::kF32 ? array_bytes<float>(numbers, shape)
                                                      : array_bytes<double>(numbers, shape)};
}

std::vector<ZipMember> arrays_of(const TrainedModel& model) {
  std::vector<ZipMember> out;
  std::span<const double> rest = model.weights;
  for (const Tensor& tensor : model.tensors) {
    out.push_back(array_of(tensor.name, rest.first(tensor.size()), tensor.shape, model.precision));
    rest = rest.subspan(tensor.size());
  }
  const Preprocessing& done = model.schema.preprocessing;
  for (const auto& [name, numbers] : {std::pair{"means", &done.means}, {"deviations", &done.deviations}})
    if (!numbers->empty()) out.push_back(array_of(name, *numbers, {numbers->size()}, Precision::kF64));
  return out;
}

Json metadata_of(const TrainedModel& model) {
  Json out = {{"format", kFormat}, {"version", kModelVersion}};
  out.update(to_json(model));
  return out;
}

// Of all members in their order, the metadata without the digest itself.
std::string digest_of(const std::vector<ZipMember>& arrays, const Json& metadata) {
  Sha256 digest;
  for (const ZipMember& array : arrays) digest.update(array.name).update(array.bytes);
  return digest.update(metadata.dump()).finish_hex();
}

std::string text_in(const Json& from, std::string_view key) {
  const Json* const found = from.find(key);
  return found == nullptr ? "" : std::string(found->text());
}

std::optional<double> number_in(const Json& from, std::string_view key) {
  const Json* const found = from.find(key);
  return found == nullptr || found->is_null() ? std::nullopt : parse_number(found->dump());
}

Result<void> read_tensors(const std::vector<ZipMember>& arrays, const std::filesystem::path& path,
                          TrainedModel& out) {
  const bool single = out.precision == Precision::kF32;
  for (const Tensor& tensor : out.tensors) {
    const auto array = std::ranges::find(arrays, tensor.name + ".npy", &ZipMember::name);
    if (array == arrays.end())
      return fail(ErrorCode::kBadData, fmt::format("it lacks the array {}", tensor.name));
    MFL_TRY(const NpyHeader header, parse_npy_header(array->bytes, path));
    const std::string_view numbers = std::string_view(array->bytes).substr(header.length);
    if (header.type != (single ? "<f4" : "<f8") || header.fortran_order || header.shape != tensor.shape ||
        numbers.size() != tensor.size() * (single ? sizeof(float) : sizeof(double)))
      return fail(ErrorCode::kBadData, fmt::format("its array {} is not the tensor", tensor.name));
    const auto values = single ? numbers_in<float>(numbers) : numbers_in<double>(numbers);
    out.weights.insert(out.weights.end(), values.begin(), values.end());
  }
  return {};
}

Result<TrainedModel> read_metadata(const Json& from) {
  TrainedModel out;
  out.model = text_in(from, "model");
  const std::string precision = text_in(from, "precision");
  if (precision != "f32" && precision != "f64")
    return fail(ErrorCode::kBadData, fmt::format("it has the unknown precision {}", excerpt(precision)));
  out.precision = precision == "f64" ? Precision::kF64 : Precision::kF32;
  const Json* const tensors = from.find("tensors");
  const Json* const schema = from.find("schema");
  if (tensors == nullptr || schema == nullptr) return fail(ErrorCode::kBadData, "it lacks tensors or schema");
  MFL_TRY(out.tensors, parse_tensors(tensors->dump()));
  MFL_TRY(out.schema, parse_schema(schema->dump()));
  out.scale = number_in(from, "scale");
  out.lambda = number_in(from, "lambda").value_or(0);
  out.digest = text_in(from, "digest");
  out.run = text_in(from, "run");
  out.mfl_version = text_in(from, "mfl_version");
  return out;
}

Result<TrainedModel> parse_model(std::string_view bytes, const std::filesystem::path& path) {
  MFL_TRY(std::vector<ZipMember> members, read_zip(bytes));
  if (members.back().name != kMetadata) return fail(ErrorCode::kBadData, "it has no mfl.json");
  auto metadata = Json::parse(members.back().bytes);
  if (!metadata || text_in(*metadata, "format") != kFormat)
    return fail(ErrorCode::kBadData, "its mfl.json does not describe a model");
  members.pop_back();
  if (const auto version = number_in(*metadata, "version"); version != kModelVersion)
    return fail(ErrorCode::kBadData, fmt::format("it has format version {:g}, this mfl supports version {}",
                                                 version.value_or(0), kModelVersion));
  const std::string sha256 = text_in(*metadata, "sha256");
  metadata->erase("sha256");
  if (digest_of(members, *metadata) != sha256)
    return fail(ErrorCode::kBadData, "its contents do not match their SHA-256: it was altered");
  MFL_TRY(TrainedModel model, read_metadata(*metadata));
  MFL_CHECK(read_tensors(members, path, model));
  MFL_CHECK(check_model(model));
  return model;
}

bool is_zip(std::string_view bytes) { return bytes.starts_with("PK"); }

}  // namespace

Result<std::string> model_file_bytes(const TrainedModel& model) {
  std::vector<ZipMember> members = arrays_of(model);
  Json metadata = metadata_of(model);
  const std::string digest = digest_of(members, metadata);
  metadata["sha256"] = digest;
  members.push_back({std::string(kMetadata), metadata.dump()});
  return make_zip(members);
}

Result<TrainedModel> parse_model_file(std::string_view bytes, const std::filesystem::path& path) {
  if (!is_zip(bytes) && path.extension() == ".onnx")
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} is an ONNX file, which other programs read; mfl reads models from NPZ files",
                            path.string()),
                "give the run, or a file of mfl model export --format npz");
  auto model =
      is_zip(bytes) ? parse_model(bytes, path) : fail(ErrorCode::kBadData, "it is not a ZIP archive");
  if (model) return model;
  Error error = std::move(model).error();
  return fail(ErrorCode::kBadData, fmt::format("{} is not a model file: {}", path.string(), error.message),
              error.hint.empty() ? kHint : error.hint);
}

Result<void> write_model_file(const std::filesystem::path& path, const TrainedModel& model) {
  MFL_TRY(const std::string bytes, model_file_bytes(model));
  return write_file(path, bytes);
}

Result<TrainedModel> read_model_file(const std::filesystem::path& path) {
  MFL_TRY(const std::string bytes, read_data_file(path));
  return parse_model_file(bytes, path);
}

}  // namespace mfl
