// The C interface with results and errors as values, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/capi/mfl.h"

namespace mfl::test {

// Takes over a text of the interface.
inline std::string taken(char* text) {
  std::string out = text == nullptr ? "" : text;
  mfl_free(text);
  return out;
}

template <class X>
constexpr std::int32_t kType = MFL_U8;
template <>
inline constexpr std::int32_t kType<float> = MFL_F32;
template <>
inline constexpr std::int32_t kType<double> = MFL_F64;
template <>
inline constexpr std::int32_t kType<std::int16_t> = MFL_I16;
template <>
inline constexpr std::int32_t kType<std::int32_t> = MFL_I32;
template <>
inline constexpr std::int32_t kType<std::int64_t> = MFL_I64;

// Row-major.
template <class X>
mfl_array matrix(const std::vector<X>& values, std::size_t rows, std::size_t columns) {
  return {.type = kType<X>,
          .index_type = 0,
          .data = values.data(),
          .rows = rows,
          .columns = columns,
          .row_stride = static_cast<std::int64_t>(columns * sizeof(X)),
          .column_stride = sizeof(X),
          .column_indices = nullptr,
          .row_starts = nullptr};
}

template <class X>
mfl_array vector(const std::vector<X>& values) {
  return matrix(values, values.size(), 1);
}

class Experiment {
 public:
  explicit Experiment(const std::string& toml = "") {
    char* error = nullptr;
    EXPECT_EQ(mfl_experiment_new(toml.c_str(), &handle_, &error), MFL_OK) << error;
    mfl_free(error);
  }
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;
  ~Experiment() { mfl_experiment_free(handle_); }

  mfl_experiment* get() const { return handle_; }

  Experiment& set(const std::string& key, const std::string& text) {
    char* error = nullptr;
    EXPECT_EQ(mfl_experiment_set(handle_, key.c_str(), text.c_str(), &error), MFL_OK) << key << ": " << error;
    mfl_free(error);
    return *this;
  }
  Experiment& data(std::int32_t part, const mfl_array& x, const mfl_array& y) {
    char* error = nullptr;
    EXPECT_EQ(mfl_experiment_data(handle_, part, &x, &y, &error), MFL_OK) << error;
    mfl_free(error);
    return *this;
  }
  Json run(const std::string& options) {
    char *error = nullptr, *result = nullptr;
    EXPECT_EQ(mfl_experiment_run(handle_, options.c_str(), &result, &error), MFL_OK) << error;
    mfl_free(error);
    return Json::parse(taken(result)).value_or(nullptr);
  }

 private:
  mfl_experiment* handle_ = nullptr;
};

inline std::string text_of(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  return found == nullptr ? "" : std::string(found->text());
}

inline Json query(const std::string& store, const std::string& request) {
  char *error = nullptr, *json = nullptr;
  EXPECT_EQ(mfl_store_query(store.c_str(), request.c_str(), &json, &error), MFL_OK) << error;
  mfl_free(error);
  return Json::parse(taken(json)).value_or(nullptr);
}

}  // namespace mfl::test
