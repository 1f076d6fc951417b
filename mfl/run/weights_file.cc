#include "mfl/run/weights_file.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/data/npy.h"

namespace mfl {
namespace {

bool is_stream(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::is_character_file(status) || std::filesystem::is_fifo(status);
}

}  // namespace

Result<void> check_weights_out(const std::filesystem::path& path) {
  if (path.empty()) return {};
  if (!is_stream(path) && path.extension() != ".npy")
    return fail(ErrorCode::kBadConfig,
                fmt::format("--weights-out {}: weights are written in NPY format", path.string()),
                "name a file that ends in .npy");
  if (auto prepared = prepare_output(path); !prepared) {
    Error error = std::move(prepared).error();
    error.code = ErrorCode::kBadConfig;
    return fail_because(std::move(error), fmt::format("--weights-out {}", path.string()));
  }
  return {};
}

template <class T>
Result<void> write_weights(const std::filesystem::path& path, std::span<const T> w, const Schema& schema) {
  MFL_CHECK(write_npy(path, w));
  if (is_stream(path)) return {};
  std::filesystem::path beside = path;
  return write_file(beside.replace_extension(".schema.json"), schema_json(schema) + "\n");
}

template Result<void> write_weights(const std::filesystem::path&, std::span<const float>, const Schema&);
template Result<void> write_weights(const std::filesystem::path&, std::span<const double>, const Schema&);

}  // namespace mfl
