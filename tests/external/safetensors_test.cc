#include "mfl/data/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

namespace mfl {
namespace {

using ::testing::HasSubstr;

std::string file_of(const std::string& index, const std::string& numbers) {
  const std::uint64_t length = index.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + index + numbers;
}

RC_GTEST_PROP(Safetensors, ReadsWhatItWrites, ()) {
  const auto shapes = *rc::gen::container<std::vector<std::vector<std::uint8_t>>>(
      rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(0, 4)));
  std::vector<StoredTensor> tensors;
  std::string numbers;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    StoredTensor tensor{
        "layer." + std::to_string(i) + "/\"\xc3\xa4", "F64", {shapes[i].begin(), shapes[i].end()}};
    std::size_t size = 8;
    for (const std::size_t side : tensor.shape) size *= side;
    numbers += std::string(size, static_cast<char>('a' + i % 26));
    tensors.push_back(std::move(tensor));
  }
  const std::string bytes = safetensors_head(tensors, 8) + numbers;
  const auto read = parse_safetensors(bytes);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    RC_ASSERT((*read)[i].name == tensors[i].name);
    RC_ASSERT((*read)[i].shape == tensors[i].shape);
    RC_ASSERT(((*read)[i].bytes.empty() || (*read)[i].bytes[0] == static_cast<char>('a' + i % 26)));
  }
}

RC_GTEST_PROP(Safetensors, TakesAnyBytes, ()) {
  const auto noise = *rc::gen::arbitrary<std::string>();
  (void)parse_safetensors(noise);
  (void)parse_safetensors(file_of(noise, noise));
}

TEST(Safetensors, BeginsItsNumbersAtAMultipleOfEight) {
  const std::vector<StoredTensor> one = {{"x", "F32", {3}}};
  EXPECT_EQ(safetensors_head(one, 4).size() % 8, 0U);
  EXPECT_THAT(safetensors_head(one, 4, "{\"a\": 1}"), HasSubstr("__metadata__"));
  EXPECT_EQ(parse_safetensors(safetensors_head(one, 4, "x") + std::string(12, '\0'))->size(), 1U);
}

TEST(Safetensors, RefusesOtherFiles) {
  const auto message = [](const std::string& bytes) {
    const auto read = parse_safetensors(bytes);
    return read ? std::string() : read.error().message;
  };
  EXPECT_THAT(message("short"), HasSubstr("too short"));
  EXPECT_THAT(message(std::string(8, '\xff')), HasSubstr("an index of"));
  EXPECT_THAT(message(file_of("[]", "")), HasSubstr("JSON object"));
  const std::string good = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(message(file_of(good, "12345678")), "");
  EXPECT_THAT(message(file_of(good, "1234567")), HasSubstr("place"));
  EXPECT_THAT(message(file_of(good, "123456789")), HasSubstr("after the last"));
  EXPECT_THAT(message(file_of(R"({"x":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", "12345678")),
              HasSubstr("type"));
  EXPECT_THAT(message(file_of(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678")),
              HasSubstr("shape"));
  EXPECT_THAT(message(file_of(R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
                              "12345678")),
              HasSubstr("shape"));
  EXPECT_THAT(message(file_of(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678")),
              HasSubstr("number"));
  EXPECT_THAT(
      message(file_of(
          R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          "1234")),
      HasSubstr("overlaps"));
}

}  // namespace
}  // namespace mfl
