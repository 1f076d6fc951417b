// CIFAR-10's files, and the archives and sheets that they are fetched from.
#include "mfl/data/cifar.h"

#include <cstdlib>

#include "mfl/data/cifar_sheets.h"
#include "mfl/data/png_image.h"
#include "mfl/data/source.h"
#include "mfl/data/tar.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string record(char label, char pixel) { return label + std::string(kCifarColumns, pixel); }

TEST(Cifar, RecordsOfSeveralFilesFollowEachOther) {
  const Folder folder;
  const auto one = folder.write("a.bin", record(3, 'a') + record(9, 'b'));
  const auto two = folder.write("b.bin", record(0, 'c'));
  const auto data = read_cifar({one, two});
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->rows, 3U);
  EXPECT_EQ(data->columns, kCifarColumns);
  EXPECT_EQ(data->scale, 1.0 / 255);
  EXPECT_THAT(data->labels, ElementsAre(3, 9, 0));
  const auto& values = std::get<DenseRows<std::uint8_t>>(data->features).values;
  ASSERT_EQ(values.size(), 3 * kCifarColumns);
  EXPECT_EQ(values[0], 'a');
  EXPECT_EQ(values[2 * kCifarColumns - 1], 'b');
  EXPECT_EQ(values.back(), 'c');
}

TEST(Cifar, OtherFilesAreRefused) {
  const Folder folder;
  expect_error(read_cifar({folder.write("short.bin", record(1, 'a').substr(1))}), ErrorCode::kBadData,
               {"short.bin", "3072 bytes"});
  expect_error(read_cifar({folder.write("none.bin", "")}), ErrorCode::kBadData, {"none.bin", "0 bytes"});
  expect_error(read_cifar({folder.write("label.bin", record(1, 'a') + record(10, 'a'))}), ErrorCode::kBadData,
               {"label 10 at byte 3073"});
  expect_error(read_cifar({folder.path("missing.bin")}), ErrorCode::kBadData, {"missing.bin"});
}

TEST(Cifar, TheSourceIsTheCacheFolder) {
  const Folder folder;
  ::setenv("MFL_CACHE", folder.path("cache").c_str(), 1);
  DataOptions options;
  options.source = "cifar10";
  expect_error(load(options), ErrorCode::kBadData, {"CIFAR-10", folder.path("cache/cifar10").string()});
  EXPECT_EQ(load(options).error().hint, "run: mfl data fetch cifar10");
  for (char batch = 1; batch <= 5; ++batch)
    folder.write("cache/cifar10/data_batch_" + std::to_string(batch) + ".bin", record(batch, 'x'));
  folder.write("cache/cifar10/test_batch.bin", record(7, 'y') + record(8, 'z'));
  const auto sets = load(options);
  ASSERT_TRUE(sets) << sets.error().text();
  EXPECT_THAT(sets->train.labels, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(sets->test->labels, ElementsAre(7, 8));
  const auto rows = open_rows(options);
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_EQ(rows->train.digest().value(), data_digest(sets->train));
  EXPECT_EQ(rows->test->digest().value(), data_digest(*sets->test));
  ::unsetenv("MFL_CACHE");
}

// One file of a tar archive.
std::string member(const std::string& name, const std::string& contents, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  const auto octal = [&](std::size_t at, std::size_t value, int digits) {
    for (int i = digits - 1; i >= 0; --i, value /= 8)
      header[at + static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 8);
  };
  octal(124, contents.size(), 11);
  header[156] = type;
  header.replace(257, 5, "ustar");
  header.replace(148, 8, 8, ' ');
  std::size_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  octal(148, sum, 6);
  header[154] = '\0';
  return header + contents + std::string((512 - contents.size() % 512) % 512, '\0');
}

TEST(Tar, HasItsPlainFilesByName) {
  const std::string bytes = member("d/a", "one") + member("link", "", '2') +
                            member("d/b", std::string(600, 'x')) + std::string(1024, '\0');
  const auto members = tar_members(bytes, "t.tar");
  ASSERT_TRUE(members) << members.error().text();
  ASSERT_EQ(members->size(), 2U);
  EXPECT_EQ(members->at("d/a"), "one");
  EXPECT_EQ(members->at("d/b"), std::string(600, 'x'));
}

TEST(Tar, DamageIsFound) {
  const std::string bytes = member("d/a", std::string(600, 'x'));
  for (std::size_t length = 0; length < 512 + 600; length += 7)
    expect_error(tar_members(std::string_view(bytes).substr(0, length), "t.tar"), ErrorCode::kBadData,
                 {"t.tar"});
  std::string wrong = bytes;
  wrong[3] = 'z';
  expect_error(tar_members(wrong, "t.tar"), ErrorCode::kBadData, {"no tar header at byte 0"});
  std::string huge = member("a", "");
  huge.replace(124, 11, "77777777777");
  expect_error(tar_members(huge, "t.tar"), ErrorCode::kBadData, {"t.tar"});
  expect_error(tar_members("", "t.tar"), ErrorCode::kBadData, {"cut short"});
}

std::string chunk(const std::string& type, const std::string& body) {
  const std::string checked = type + body;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(static_cast<std::uint32_t>(body.size())) + checked +
         big_endian(static_cast<std::uint32_t>(crc));
}

// An RGB picture of `rows`, each of which holds the bytes of its pixels.
std::string png(std::uint32_t width, const std::vector<std::string>& rows) {
  std::string raw;
  for (const std::string& row : rows) raw += '\0' + row;
  std::string packed(compressBound(raw.size()), '\0');
  uLongf length = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &length, reinterpret_cast<const Bytef*>(raw.data()),
           raw.size());
  packed.resize(length);
  const std::string header = big_endian(width) + big_endian(static_cast<std::uint32_t>(rows.size())) +
                             std::string("\x08\x02\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", packed) + chunk("IEND", "");
}

bool has_png() { return decode_png("", 1, "x").error().code != ErrorCode::kBadConfig; }

// Of a build without it.
void expect_libpng_asked_for() {
  expect_error(cifar_from_sheets({{"package/test_batch.png", png(1024, {std::string(3072, 'x')})},
                                  {"package/test_lables.json", "[1]"}},
                                 "test_batch.bin"),
               ErrorCode::kBadConfig, {"cannot decode PNG"});
}

std::string sheet_row(char red, char green, char blue) {
  std::string row;
  for (std::size_t pixel = 0; pixel < kCifarColumns / 3; ++pixel) row += {red, green, blue};
  return row;
}

TEST(CifarSheets, BecomeRecordsWithColoursApart) {
  if (!has_png()) return expect_libpng_asked_for();
  const std::string sheet = png(1024, {sheet_row('r', 'g', 'b'), sheet_row('R', 'G', 'B')});
  std::string second = "[0";
  for (int i = 1; i < 10000; ++i) second += ",0";
  second += ",4,7]";
  const std::map<std::string, std::string_view> members = {{"package/test_batch.png", sheet},
                                                           {"package/data_batch_2.png", sheet},
                                                           {"package/test_lables.json", "[5,6]"},
                                                           {"package/train_lables.json", second}};
  const std::string a(1024, 'r'), b(1024, 'g'), c(1024, 'b'), d(1024, 'R'), e(1024, 'G'), f(1024, 'B');
  EXPECT_EQ(cifar_from_sheets(members, "test_batch.bin").value(), '\5' + a + b + c + '\6' + d + e + f);
  EXPECT_EQ(cifar_from_sheets(members, "data_batch_2.bin").value(), '\4' + a + b + c + '\7' + d + e + f);
  expect_error(cifar_from_sheets(members, "data_batch_3.bin"), ErrorCode::kBadData, {"data_batch_3.png"});
}

TEST(CifarSheets, OtherPicturesAreRefused) {
  if (!has_png()) return expect_libpng_asked_for();
  const std::string narrow = png(2, {"abcdef"}), good = png(1024, {sheet_row('r', 'g', 'b')});
  const auto from = [](const std::string& sheet, std::string_view labels) {
    return cifar_from_sheets({{"package/test_batch.png", sheet}, {"package/test_lables.json", labels}},
                             "test_batch.bin");
  };
  EXPECT_TRUE(from(good, "[1]"));
  expect_error(from(good, "[]"), ErrorCode::kBadData, {"0 labels"});
  expect_error(from(narrow, "[1]"), ErrorCode::kBadData, {"2 x 1 pixels"});
  expect_error(from("not a picture", "[1]"), ErrorCode::kBadData, {"test_batch.png", "PNG"});
  for (std::size_t length = 0; length + 12 < good.size(); length += 5)
    EXPECT_FALSE(from(good.substr(0, length), "[1]")) << length;
  expect_error(decode_png(good, 1000, "x"), ErrorCode::kBadData, {"1024 x 1 pixels"});
}

}  // namespace
}  // namespace mfl::test
