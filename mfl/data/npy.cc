#include "mfl/data/npy.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "mfl/base/files.h"
#include "mfl/base/json.h"
#include "mfl/data/npy_header.h"

namespace mfl {
namespace {

// Beside the arrays, written by mfl data split.
constexpr const char* kAbout = "mfl.json";

std::shared_ptr<const Origin> npy_origin(const std::filesystem::path& labels) {
  auto origin = std::make_shared<Origin>(*origin_at(labels));
  const auto about = read_file(labels.parent_path() / kAbout);
  if (const auto json = about ? Json::parse(*about) : fail(ErrorCode::kBadData, ""); json)
    if (const Json* own = json->find("own_data")) origin->own_data = own->dump() == "true";
  return origin;
}

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little,
              "NPY files are read and written without swapping bytes");

constexpr std::size_t kLargestDense = std::size_t{4} << 30;

struct NpyArray {
  NpyHeader header;
  std::string_view body;
};

// Size in bytes of a type such as "<f8"; 0 if it is not a plain one.
std::size_t element_size(std::string_view type) {
  const auto size = type.size() == 3 ? parse_count(type.substr(2)) : std::nullopt;
  return size.value_or(0);
}

// Everything but whether the caller can use the type.
Result<void> check_header(const NpyHeader& header, std::size_t file_size, const fs::path& path,
                          std::size_t rank, std::string_view types) {
  const std::string& type = header.type;
  const std::size_t size = element_size(type);
  if (size > 1 && (type.starts_with('>') || type.starts_with('!')))
    return bad_file(path, fmt::format("big-endian type {} is not supported", type),
                    "convert it: array.astype('<f8')");
  const bool known_order = type.find_first_of("<>|=!") == 0;
  if (size == 0 || !known_order ||
      (" " + std::string(types) + " ").find(" " + type.substr(1) + " ") == std::string::npos)
    return bad_file(path, fmt::format("unsupported type {}", excerpt(type)),
                    fmt::format("supported are: {}", types));
  if (header.shape.size() != rank)
    return bad_file(path,
                    fmt::format("shape ({}) has {} dimensions, expected {}", fmt::join(header.shape, ", "),
                                header.shape.size(), rank),
                    "reshape the array");
  if (header.fortran_order && rank > 1)
    return bad_file(path, "Fortran order is not supported", "save numpy.ascontiguousarray(array)");
  std::size_t bytes = size;
  for (const std::size_t extent : header.shape) {
    if (extent == 0)
      return bad_file(path, fmt::format("empty array: shape ({})", fmt::join(header.shape, ", ")),
                      "give at least one sample");
    if (bytes > std::numeric_limits<std::size_t>::max() / 2 / extent)
      return bad_file(path, fmt::format("impossible shape ({})", fmt::join(header.shape, ", ")),
                      "write it again with numpy.save");
    bytes *= extent;
  }
  const std::size_t expected = header.length + bytes;
  if (file_size != expected)
    return bad_file(path,
                    fmt::format("{}: the header promises {} bytes, the file ends at byte {}",
                                file_size < expected ? "truncated" : "over-long", expected, file_size),
                    "write it again with numpy.save");
  return {};
}

Result<NpyArray> parse_array(const FileBytes& file, std::size_t rank, std::string_view types) {
  MFL_TRY(NpyHeader header, parse_npy_header(file.bytes, file.path));
  MFL_CHECK(check_header(header, file.bytes.size(), file.path, rank, types));
  const std::string_view body = file.bytes.substr(header.length);
  return NpyArray{std::move(header), body};
}

template <class T>
std::vector<T> numbers(std::string_view body) {
  std::vector<T> values(body.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), body.data(), body.size());
  return values;
}

// `row_of` gives the number in the file of the row at i.
template <class T, class RowOf>
Result<Features> finite_rows(std::vector<T> values, std::size_t columns, const fs::path& path,
                             const RowOf& row_of) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return bad_file(path,
                      fmt::format("row {}, column {} (from 0) is not finite: {}", row_of(i / columns),
                                  i % columns, values[i]),
                      "every number must be finite; fix or remove the row");
  return DenseRows<T>{std::move(values)};
}

template <class T>
Result<Features> floating_rows(const NpyArray& array, const fs::path& path) {
  return finite_rows(numbers<T>(array.body), array.header.shape[1], path,
                     [](std::size_t row) { return row; });
}

class NpyRows final : public RowSource {
 public:
  NpyRows(FileReader file, const NpyHeader& header, std::vector<double> labels,
          std::shared_ptr<const Origin> origin)
      : RowSource({header.shape[0], header.shape[1], header.type.substr(1) == "u1" ? 1.0 / 255 : 1.0, false},
                  std::move(labels), std::move(origin)),
        file_(std::move(file)),
        header_(header) {}

  Result<Features> read(std::span<const std::uint32_t> rows) const override {
    const std::string_view type = std::string_view(header_.type).substr(1);
    if (type == "f4") return read_floating<float>(rows);
    if (type == "f8") return read_floating<double>(rows);
    MFL_TRY(auto bytes, read_rows<std::uint8_t>(file_, header_.length, shape().columns, rows));
    return DenseRows<std::uint8_t>{std::move(bytes)};
  }

 private:
  template <class T>
  Result<Features> read_floating(std::span<const std::uint32_t> rows) const {
    MFL_TRY(auto values, read_rows<T>(file_, header_.length, shape().columns, rows));
    return finite_rows(std::move(values), shape().columns, file_.path(),
                       [&](std::size_t i) { return rows[i]; });
  }

  FileReader file_;
  NpyHeader header_;
};

constexpr std::string_view kFeatureTypes = "u1 f4 f8";
constexpr std::string_view kLabelTypes = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8";

tl::unexpected<Error> rows_without_labels(const fs::path& x, std::size_t rows, const fs::path& y,
                                          std::size_t labels) {
  return bad_file(y, fmt::format("{} labels, but {} has {} rows", labels, x.string(), rows),
                  "x and y must come from the same set");
}

Result<Features> read_features(const NpyArray& array, const fs::path& path) {
  const std::string_view type = std::string_view(array.header.type).substr(1);
  if (type == "f4") return floating_rows<float>(array, path);
  if (type == "f8") return floating_rows<double>(array, path);
  return DenseRows<std::uint8_t>{numbers<std::uint8_t>(array.body)};
}

template <class T>
Result<std::vector<double>> labels_as(const NpyArray& array, const fs::path& path) {
  constexpr double kLargestWhole = 0x1p53;
  const std::vector<T> values = numbers<T>(array.body);
  std::vector<double> labels;
  labels.reserve(values.size());
  for (const T value : values) {
    const auto label = static_cast<double>(value);
    if (!std::isfinite(label) || (std::numeric_limits<T>::is_integer && std::abs(label) > kLargestWhole))
      return bad_file(path, fmt::format("row {} (from 0): {} is no usable label", labels.size(), value),
                      "labels must be finite, whole ones at most 2^53 in size");
    labels.push_back(label);
  }
  return labels;
}

Result<std::vector<double>> read_labels(const NpyArray& array, const fs::path& path) {
  const std::string_view type = std::string_view(array.header.type).substr(1);
  if (type == "i1") return labels_as<std::int8_t>(array, path);
  if (type == "i2") return labels_as<std::int16_t>(array, path);
  if (type == "i4") return labels_as<std::int32_t>(array, path);
  if (type == "i8") return labels_as<std::int64_t>(array, path);
  if (type == "u2") return labels_as<std::uint16_t>(array, path);
  if (type == "u4") return labels_as<std::uint32_t>(array, path);
  if (type == "u8") return labels_as<std::uint64_t>(array, path);
  if (type == "f4") return labels_as<float>(array, path);
  if (type == "f8") return labels_as<double>(array, path);
  return labels_as<std::uint8_t>(array, path);
}

template <class T>
constexpr std::string_view kTypeName = "|u1";
template <>
constexpr std::string_view kTypeName<float> = "<f4";
template <>
constexpr std::string_view kTypeName<double> = "<f8";

template <class T>
Result<void> write_array(const fs::path& path, std::span<const T> values,
                         const std::vector<std::size_t>& shape) {
  std::string file = make_npy_header(kTypeName<T>, shape);
  const auto bytes = std::as_bytes(values);
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return write_file(path, file);
}

template <class X>
Result<void> write_features(const fs::path& path, const DenseRows<X>& rows, const Dataset& data) {
  return write_array<X>(path, rows.values, {data.rows, data.columns});
}

template <class X>
Result<void> write_features(const fs::path& path, const SparseRows<X>& rows, const Dataset& data) {
  std::vector<X> dense(data.rows * data.columns);
  for (std::size_t row = 0; row < data.rows; ++row)
    for (std::size_t i = rows.starts[row]; i < rows.starts[row + 1]; ++i)
      dense[row * data.columns + rows.columns[i]] = rows.values[i];
  return write_array<X>(path, dense, {data.rows, data.columns});
}

template <class X>
constexpr std::size_t dense_size(const DenseRows<X>&) {
  return 0;
}
template <class X>
constexpr std::size_t dense_size(const SparseRows<X>&) {
  return sizeof(X);
}

}  // namespace

Result<Dataset> read_npy(const fs::path& x, const fs::path& y) {
  MFL_TRY(const std::string features, read_data_file(x));
  MFL_TRY(const std::string labels, read_data_file(y));
  return parse_npy({features, x}, {labels, y});
}

Result<Dataset> parse_npy(const FileBytes& x, const FileBytes& y) {
  MFL_TRY(const NpyArray features, parse_array(x, 2, kFeatureTypes));
  MFL_TRY(const NpyArray labels, parse_array(y, 1, kLabelTypes));
  Dataset data;
  data.rows = features.header.shape[0];
  data.columns = features.header.shape[1];
  if (labels.header.shape[0] != data.rows)
    return rows_without_labels(x.path, data.rows, y.path, labels.header.shape[0]);
  MFL_TRY(data.features, read_features(features, x.path));
  MFL_TRY(data.labels, read_labels(labels, y.path));
  if (std::holds_alternative<DenseRows<std::uint8_t>>(data.features)) data.scale = 1.0 / 255;
  data.origin = npy_origin(y.path);
  return data;
}

Result<std::unique_ptr<RowSource>> open_npy_rows(const fs::path& x, const fs::path& y) {
  constexpr std::size_t kBeginning = std::size_t{1} << 20;  // holds any header that numpy writes
  auto opened = FileReader::open(x);
  if (!opened) opened.error().hint = kCheckPath;
  MFL_TRY(FileReader file, std::move(opened));
  std::error_code error;
  const std::size_t size = fs::file_size(x, error);
  std::string beginning(std::min(kBeginning, size), '\0');
  MFL_TRY(const std::size_t found, file.read(0, std::as_writable_bytes(std::span(beginning))));
  beginning.resize(found);
  MFL_TRY(const NpyHeader header, parse_npy_header(beginning, x));
  MFL_CHECK(check_header(header, size, x, 2, kFeatureTypes));
  if (y.empty())
    return std::make_unique<NpyRows>(std::move(file), header, std::vector<double>(header.shape[0]), nullptr);
  MFL_TRY(const std::string label_file, read_data_file(y));
  MFL_TRY(const NpyArray labels, parse_array({label_file, y}, 1, kLabelTypes));
  if (labels.header.shape[0] != header.shape[0])
    return rows_without_labels(x, header.shape[0], y, labels.header.shape[0]);
  MFL_TRY(std::vector<double> values, read_labels(labels, y));
  return std::make_unique<NpyRows>(std::move(file), header, std::move(values), npy_origin(y));
}

Result<void> write_npy(const fs::path& path, std::span<const float> vector) {
  return write_array(path, vector, {vector.size()});
}

Result<void> write_npy(const fs::path& path, std::span<const double> vector) {
  return write_array(path, vector, {vector.size()});
}

Result<void> write_npy_folder(const fs::path& folder, const Dataset& data, std::optional<bool> own_data) {
  const std::size_t size = visit_owned([](const auto& rows) { return dense_size(rows); }, data.features);
  if (size != 0 && data.columns != 0 && data.rows > kLargestDense / size / data.columns)
    return fail(
        ErrorCode::kBadData,
        fmt::format("{}: a sparse set of {} rows and {} columns would be more than 4 GiB as dense NPY",
                    (folder / "x.npy").string(), data.rows, data.columns),
        "NPY is dense: use fewer rows or columns");
  MFL_CHECK(make_folder(folder));
  MFL_CHECK(visit_owned([&](const auto& rows) { return write_features(folder / "x.npy", rows, data); },
                        data.features));
  MFL_CHECK(write_npy(folder / "y.npy", data.labels));
  return own_data ? write_file(folder / kAbout, Json{{"own_data", *own_data}}.dump() + "\n") : Result<void>{};
}

}  // namespace mfl
