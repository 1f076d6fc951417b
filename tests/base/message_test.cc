#include "mfl/base/message.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace mfl {
namespace {

TEST(Message, GivesBackWhatWasPut) {
  MessageWriter writer;
  const std::vector<double> numbers = {1, 2.5};
  writer.put(std::uint32_t{7});
  writer.put_text("text");
  writer.put_all(std::span<const double>(numbers));
  MessageReader reader(writer.bytes());
  EXPECT_EQ(reader.take<std::uint32_t>(), 7U);
  EXPECT_EQ(reader.take_text(), "text");
  EXPECT_EQ(reader.take_all<double>(), numbers);
  EXPECT_TRUE(reader.at_end());
}

TEST(Message, AShortMessageThrows) {
  MessageWriter writer;
  const std::vector<double> numbers = {1, 2.5};
  writer.put_all(std::span<const double>(numbers));
  writer.put_text("text");
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    MessageReader reader(std::string_view(writer.bytes()).substr(0, size));
    EXPECT_THROW(
        {
          reader.take_all<double>();
          reader.take_text();
        },
        std::out_of_range)
        << size;
  }
  MessageWriter huge;
  huge.put(std::size_t{1} << 61U);  // times eight is 0 in 64 bits
  EXPECT_THROW(MessageReader(huge.bytes()).take_all<double>(), std::out_of_range);
}

}  // namespace
}  // namespace mfl
