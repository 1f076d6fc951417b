// Small data files for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/base/result.h"
#include "mfl/data/csv.h"
#include "mfl/data/schema.h"

namespace mfl::test {

// A temporary folder that tests write into.
class Folder {
 public:
  Folder() : folder_(*TempFolder::make()) {}
  std::filesystem::path path(std::string_view name = "") const {
    return name.empty() ? folder_.path() : folder_.path() / name;
  }
  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    const auto target = path(name);
    std::filesystem::create_directories(target.parent_path());
    std::ofstream(target, std::ios::binary) << bytes;
    return target;
  }
  // Every path below, relative.
  std::set<std::string> listing() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      names.insert(entry.path().lexically_relative(folder_.path()).string());
    return names;
  }

 private:
  TempFolder folder_;
};

// The rows of a CSV file with this text.
inline Dataset csv_rows(const Folder& folder, std::string_view text, const CsvOptions& options = {}) {
  return read_csv(folder.write("points.csv", text), options).value();
}

// Rows without features.
inline Dataset labelled(std::vector<double> labels) {
  Dataset data;
  data.rows = labels.size();
  data.columns = 1;
  data.labels = std::move(labels);
  return data;
}

// The schema of a run that has no other data.
inline Schema schema_alone(const Dataset& data, LabelTask task = LabelTask::kBinary) {
  return settle_alone(settle({}, observe(data, task).value()).value()).value();
}

inline std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
  return bytes;
}

inline std::string idx(const std::vector<std::uint32_t>& shape, std::string_view body) {
  std::string bytes = big_endian(0x0800U + static_cast<std::uint32_t>(shape.size()));
  for (const std::uint32_t extent : shape) bytes += big_endian(extent);
  return bytes.append(body);
}

inline std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline std::string npy(std::string_view dictionary, std::string_view body, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(dictionary.size() & 255);
  bytes += static_cast<char>(dictionary.size() >> 8);
  if (version == 2) bytes += std::string(2, '\0');
  return bytes.append(dictionary).append(body);
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
void expect_error(const Result<T>& result, ErrorCode code, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, code);
  for (const std::string& part : parts) EXPECT_THAT(result.error().text(), ::testing::HasSubstr(part));
  EXPECT_FALSE(result.error().first_hint().empty()) << result.error().text();
  EXPECT_EQ(result.error().text().find('\n'), std::string::npos);
}

}  // namespace mfl::test
