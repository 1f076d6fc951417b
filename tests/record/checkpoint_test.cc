#include "mfl/record/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstring>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

template <class T>
Vector<T> any_vector() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Vector<T> values;
  for (const Bits bits : *rc::gen::container<std::vector<Bits>>(rc::gen::arbitrary<Bits>()))
    values.push_back(std::bit_cast<T>(bits));
  return values;
}

template <class T>
State<T> any_state() {
  State<T> state;
  state.round = *rc::gen::arbitrary<std::uint64_t>();
  state.step = *rc::gen::arbitrary<std::uint64_t>();
  for (std::size_t n = *rc::gen::inRange<std::size_t>(1, 5); n > 0; --n)
    state.vectors.push_back({*rc::gen::arbitrary<std::string>(), any_vector<T>()});
  state.best.step = *rc::gen::arbitrary<std::uint64_t>();
  state.best.train_loss = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
  state.best.w = any_vector<T>();
  return state;
}

template <class T>
bool same_vector(const Vector<T>& a, const Vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
bool same_state(const State<T>& a, const State<T>& b) {
  if (a.round != b.round || a.step != b.step || a.vectors.size() != b.vectors.size() ||
      a.best.step != b.best.step ||
      std::bit_cast<std::uint64_t>(a.best.train_loss) != std::bit_cast<std::uint64_t>(b.best.train_loss) ||
      !same_vector(a.best.w, b.best.w))
    return false;
  for (std::size_t i = 0; i < a.vectors.size(); ++i)
    if (a.vectors[i].name != b.vectors[i].name || !same_vector(a.vectors[i].values, b.vectors[i].values))
      return false;
  return true;
}

State<float> small_state() {
  return {3, 12, {{"w", {1.0F, -2.5F}}, {"d", {0.5F, 0.25F}}}, {8, 0.75, {1.0F, -2.0F}}};
}

std::string sealed(std::string body) {
  const auto digest = Sha256().update(body).finish();
  body.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return body;
}

std::string body_of(const std::string& encoded) { return encoded.substr(0, encoded.size() - 32); }

RC_GTEST_PROP(Checkpoint, RoundTripOfFloats, ()) {
  const auto state = any_state<float>();
  const auto decoded = decode_state<float>(encode_state(state));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(same_state(*decoded, state));
}

RC_GTEST_PROP(Checkpoint, RoundTripOfDoubles, ()) {
  const auto state = any_state<double>();
  const auto decoded = decode_state<double>(encode_state(state));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(same_state(*decoded, state));
}

RC_GTEST_PROP(Checkpoint, AnyChangedByteIsRefused, ()) {
  std::string bytes = encode_state(any_state<double>());
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
  RC_ASSERT(!decode_state<double>(bytes).has_value());
}

TEST(Checkpoint, EveryFlippedBitTruncationAndAdditionIsRefused) {
  const std::string bytes = encode_state(small_state());
  ASSERT_TRUE(decode_state<float>(bytes));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string harmed = bytes;
      harmed[at] = static_cast<char>(harmed[at] ^ (1 << bit));
      const auto decoded = decode_state<float>(harmed);
      ASSERT_FALSE(decoded) << at;
      EXPECT_EQ(decoded.error().code, ErrorCode::kRunFailed);
      EXPECT_FALSE(decoded.error().hint.empty());
    }
    ASSERT_FALSE(decode_state<float>(std::string_view(bytes).substr(0, at))) << at;
  }
  EXPECT_FALSE(decode_state<float>(bytes + '\0'));
}

TEST(Checkpoint, TheLayoutIsTheDocumentedOne) {
  const State<float> state{1, 2, {{"w", {1.0F}}}, {0, 0.0, {}}};
  const std::string u64_zero(8, '\0');
  const auto little = [](char low, std::size_t size) {
    return std::string(1, low) + std::string(size - 1, '\0');
  };
  const std::string body = "MFLSTATE" + little(1, 4) + little(32, 4) + little(1, 8) + little(2, 8) +
                           little(1, 4) + little(1, 4) + "w" + little(1, 8) + std::string("\0\0\x80\x3f", 4) +
                           u64_zero + u64_zero + u64_zero;
  EXPECT_EQ(encode_state(state), sealed(body));
}

TEST(Checkpoint, SaysWhatIsWrong) {
  const std::string good = body_of(encode_state(small_state()));
  const auto message = [](const std::string& bytes) { return decode_state<float>(bytes).error().message; };
  EXPECT_THAT(message(""), HasSubstr("MFLSTATE"));
  EXPECT_THAT(message("MFLSTATE"), HasSubstr("truncated"));
  std::string newer = good;
  newer[8] = 3;
  EXPECT_THAT(message(sealed(newer)), HasSubstr("format version 3"));
  std::string older = good;
  older[8] = 0;
  EXPECT_THAT(message(sealed(older)), HasSubstr("format version 0"));
  EXPECT_THAT(message(good + std::string(32, 'x')), HasSubstr("checksum"));
  EXPECT_THAT(message(sealed(good + "x")), HasSubstr("it has 1 bytes after its end"));
  EXPECT_THAT(decode_state<double>(sealed(good)).error().message, HasSubstr("precision f32"));
  std::string none = good;
  none[32] = 0;
  EXPECT_THAT(message(sealed(none)), HasSubstr("no vectors"));
  std::string endless_name = good;
  endless_name.replace(36, 4, 4, '\xff');
  EXPECT_THAT(message(sealed(endless_name)), HasSubstr("name of a vector needs 4294967295 bytes"));
  std::string endless_vector = good;
  endless_vector.replace(41, 8, 8, '\xff');
  EXPECT_THAT(message(sealed(endless_vector)), HasSubstr("length 18446744073709551615"));
  std::string endless_count = good;
  endless_count.replace(32, 4, 4, '\xff');
  EXPECT_FALSE(decode_state<float>(sealed(endless_count)));
}

// The checksum is right, so the decoder itself has to withstand what it reads.
RC_GTEST_PROP(Checkpoint, SealedNonsenseIsReadSafely, ()) {
  std::string body = body_of(encode_state(any_state<float>()));
  const auto changes = *rc::gen::inRange(1, 8);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(8, body.size());
    body[at] = static_cast<char>(*rc::gen::inRange(0, 256));
  }
  body.resize(*rc::gen::inRange<std::size_t>(12, body.size() + 1));
  const std::string bytes = sealed(body);
  const auto decoded = decode_state<float>(bytes);
  const bool safe = !decoded || encode_state(*decoded) == bytes;
  RC_ASSERT(safe);
}

}  // namespace
}  // namespace mfl
