// Every kind of bad data file: its code, and what the message must name.
#include <fmt/core.h>

#include <limits>

#include "mfl/data/csv.h"
#include "mfl/data/idx.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/npy.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

const std::string kNan = raw<double>({std::numeric_limits<double>::quiet_NaN()});

struct BadFile {
  std::string name;
  std::string bytes;
  std::vector<std::string> says;
  std::string other = {};  // the second file of a pair, where the bad one is not the first
};

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }

std::string bad_file_name(const ::testing::TestParamInfo<BadFile>& info) { return info.param.name; }

class BadIdxImages : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadIdxImages, IsRefused) {
  const Folder folder;
  const auto images = folder.write("images", GetParam().bytes);
  const auto labels = folder.write("labels", idx({2}, "\1\2"));
  auto says = GetParam().says;
  says.push_back(images.string());
  expect_error(read_idx(images, labels), ErrorCode::kBadData, says);
}

const std::string kGoodImages = idx({2, 1, 3}, "abcdef");

INSTANTIATE_TEST_SUITE_P(
    All, BadIdxImages,
    ::testing::Values(
        BadFile{"empty", "", {"empty"}},
        BadFile{"magic_cut", kGoodImages.substr(0, 3), {"truncated", "byte 3"}},
        BadFile{"header_cut", kGoodImages.substr(0, 9), {"truncated", "header", "byte 9"}},
        BadFile{"bad_magic", "RIFF" + kGoodImages, {"bad magic 0x52494646", "byte 0"}},
        BadFile{"not_bytes", big_endian(0x0d03) + kGoodImages.substr(4), {"bad magic 0x00000d03"}},
        BadFile{"labels_for_images", idx({2}, "\1\2"), {"bad magic 0x00000801"}},
        BadFile{"truncated", kGoodImages.substr(0, 20), {"truncated", "22 bytes", "byte 20"}},
        BadFile{"over_long", kGoodImages + "g", {"over-long", "byte 22"}},
        BadFile{"no_rows", idx({0, 1, 3}, ""), {"no samples"}},
        BadFile{"no_columns", idx({2, 0, 3}, ""), {"no samples"}},
        BadFile{
            "header_larger_than_file", idx({0xffffffff, 0x10000, 0xffff}, "ab"), {"truncated", "byte 18"}},
        BadFile{"overflowing", idx({2, 0xffffffff, 0xffffffff}, "ab"), {"impossible size", "byte 12"}},
        BadFile{"gz_empty", gzip(""), {"empty"}},
        BadFile{"gz_cut_short", gzip(kGoodImages).substr(0, 25), {"cut short", "byte 25"}},
        BadFile{
            "gz_cut_in_trailer", gzip(kGoodImages).substr(0, gzip(kGoodImages).size() - 1), {"cut short"}},
        BadFile{"gz_cut_in_header", gzip(kGoodImages).substr(0, 5), {"cut short", "byte 5"}},
        BadFile{"gz_corrupt",
                gzip(kGoodImages).replace(gzip(kGoodImages).size() - 6, 2, "\x55\xaa"),
                {"corrupt"}},
        BadFile{"gz_trailing_garbage", gzip(kGoodImages) + "xyz", {"3 bytes of garbage"}},
        BadFile{"gz_truncated_inside", gzip(kGoodImages.substr(0, 20)), {"truncated", "byte 20"}},
        BadFile{"gz_over_long_inside", gzip(kGoodImages + "g"), {"over-long", "byte 22"}},
        BadFile{"gz_header_larger_than_file", gzip(idx({0x7fffffff, 0x7fff, 2}, "ab")), {"truncated"}}),
    bad_file_name);

TEST(BadIdx, LabelsMustBeAsManyAsImages) {
  const Folder folder;
  const auto images = folder.write("images", kGoodImages);
  const auto labels = folder.write("labels", idx({3}, "\1\2\3"));
  expect_error(read_idx(images, labels), ErrorCode::kBadData, {labels.string(), "3 labels", "2 images"});
}

TEST(BadIdx, LabelsMustHaveRankOne) {
  const Folder folder;
  const auto images = folder.write("images", kGoodImages);
  expect_error(read_idx(images, images), ErrorCode::kBadData, {"bad magic 0x00000803"});
}

TEST(BadIdx, MissingFileIsNamed) {
  const Folder folder;
  expect_error(read_idx(folder.path("none"), folder.path("none")), ErrorCode::kBadData,
               {folder.path("none").string()});
}

class BadCsv : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadCsv, IsRefused) {
  const Folder folder;
  const auto path = folder.write("data.csv", GetParam().bytes);
  auto says = GetParam().says;
  says.push_back(path.string());
  expect_error(read_csv(path), ErrorCode::kBadData, says);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCsv,
    ::testing::Values(
        BadFile{"empty", "", {"empty"}}, BadFile{"only_blank_lines", "\n\r\n \n", {"empty"}},
        BadFile{"ragged_short", "1,2,3\n4,5\n", {"line 2", "ragged", "2 columns", "has 3"}},
        BadFile{"ragged_long", "a,b\n1,2\n1,2,3", {"line 3", "ragged", "3 columns"}},
        BadFile{"non_number", "1,2\nx4,3\n", {"line 2", "column 1", "not a number", "'x4'"}},
        BadFile{"half_number", "1,2\n3.5.1,4\n", {"line 2", "column 1", "'3.5.1'"}},
        BadFile{"nan_first_line", "1,nan\n", {"line 1", "column 2", "not finite", "'nan'"}},
        BadFile{"nan_label", "1,2\n1,NaN\n", {"line 2", "column 2", "not finite"}},
        BadFile{"infinity", "1,2\n-inf,2\n", {"line 2", "column 1", "not finite"}},
        BadFile{"overflow", "1,2\n1e999,2\n", {"line 2", "column 1", "'1e999'"}},
        BadFile{"empty_field", "1,,3\n", {"line 1", "column 2", "empty"}},
        BadFile{"blank_line_inside", "1,2\n\n3,4\n", {"line 2", "ragged"}},
        BadFile{"header_only", "a,b\n", {"no samples"}},
        BadFile{"one_column", "1\n2\n", {"line 1", "one column"}},
        BadFile{"semicolons", "1;2\n3;4\n", {"one column"}},
        BadFile{"open_quote", "1,2\n\"3,4\n", {"line 2", "never closed"}},
        BadFile{"text_after_quote", "1,2\n\"3\"4,4\n", {"line 2", "closing quote"}},
        BadFile{"line_counted_through_quotes", "\"a\nb\",c\n1,2\nx,2\n", {"line 4", "column 'a?b'"}}),
    bad_file_name);

class BadLibsvm : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadLibsvm, IsRefused) {
  const Folder folder;
  const auto path = folder.write("data.svm", GetParam().bytes);
  auto says = GetParam().says;
  says.push_back(path.string());
  expect_error(read_libsvm(path, 9), ErrorCode::kBadData, says);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadLibsvm,
    ::testing::Values(BadFile{"empty", "", {"empty"}}, BadFile{"only_comments", "# nothing\n\n", {"empty"}},
                      BadFile{"index_zero", "1 1:2\n-1 0:1 2:1\n", {"line 2", "index 0"}},
                      BadFile{"unsorted", "1 3:1 2:1\n", {"line 1", "unsorted", "index 2 after 3"}},
                      BadFile{"duplicate", "1 2:1 2:1\n", {"line 1", "index 2", "duplicate"}},
                      BadFile{"no_colon", "1 1:1\n\n1 7\n", {"line 3", "'7'"}},
                      BadFile{"no_value", "1 1:\n", {"line 1", "index 1", "not a number"}},
                      BadFile{"no_index", "1 :5\n", {"line 1", "':5'"}},
                      BadFile{"negative_index", "1 -2:5\n", {"line 1", "'-2:5'"}},
                      BadFile{"nan", "1 1:nan\n", {"line 1", "index 1", "not finite"}},
                      BadFile{"label_nan", "nan 1:1\n", {"line 1", "label", "not finite"}},
                      BadFile{"label_missing", "1:1 2:1\n", {"line 1", "label", "'1:1'"}},
                      BadFile{"index_too_large", "1 10:1\n", {"line 1", "index 10", "9"}},
                      BadFile{
                          "index_absurd", "1 99999999999999999999:1\n", {"line 1", "99999999999999999999"}}),
    bad_file_name);

TEST(BadLibsvmColumns, AFileWithoutAnyFeatureIsRefused) {
  const Folder folder;
  const auto path = folder.write("data.svm", "1\n-1\n");
  expect_error(read_libsvm(path), ErrorCode::kBadData, {path.string(), "feature"});
}

class BadNpy : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadNpy, IsRefused) {
  const bool bad_y = !GetParam().other.empty();
  const Folder folder;
  const auto x = folder.write("x.npy", bad_y ? GetParam().other : GetParam().bytes);
  const auto y = folder.write(
      "y.npy",
      bad_y ? GetParam().bytes
            : npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", raw<std::int64_t>({1})));
  auto says = GetParam().says;
  says.push_back(bad_y ? y.string() : x.string());
  expect_error(read_npy(x, y), ErrorCode::kBadData, says);
}

std::string header(std::string_view type, std::string_view shape, std::string_view fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, fortran, shape);
}

const std::string kX = npy(header("<f8", "(1, 2)"), raw<double>({1, 2}));
const std::string kHuge = header("<f8", "(4611686018427387904, 4611686018427387904)");

INSTANTIATE_TEST_SUITE_P(
    X, BadNpy,
    ::testing::Values(
        BadFile{"empty", "", {"empty"}}, BadFile{"bad_magic", "PK\3\4" + kX, {"magic", "byte 0"}},
        BadFile{"cut_in_version", kX.substr(0, 8), {"truncated", "byte 8"}},
        BadFile{"cut_in_header", kX.substr(0, 30), {"truncated", "header", "byte 30"}},
        BadFile{"cut_in_version_2", npy("", "", 2).substr(0, 11), {"truncated"}},
        BadFile{"version_3", npy(header("<f8", "(1, 2)"), raw<double>({1, 2}), 3), {"version 3.0", "byte 6"}},
        BadFile{"header_garbage", npy("{'descr': ", ""), {"header", "byte 10"}},
        BadFile{"header_without_shape", npy("{'descr': '<f8', 'fortran_order': False}", ""), {"header"}},
        BadFile{"structured",
                npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 2)}", ""),
                {"header"}},
        BadFile{"fortran", npy(header("<f8", "(1, 2)", "True"), raw<double>({1, 2})), {"Fortran"}},
        BadFile{"big_endian", npy(header(">f8", "(1, 2)"), raw<double>({1, 2})), {"big-endian", ">f8"}},
        BadFile{"network_order", npy(header("!f8", "(1, 2)"), raw<double>({1, 2})), {"big-endian", "!f8"}},
        BadFile{
            "unknown_order", npy(header("xf8", "(1, 2)"), raw<double>({1, 2})), {"unsupported type 'xf8'"}},
        BadFile{"complex", npy(header("<c8", "(1, 1)"), raw<double>({1})), {"unsupported type '<c8'"}},
        BadFile{"half", npy(header("<f2", "(1, 4)"), raw<double>({1})), {"unsupported type '<f2'"}},
        BadFile{"whole_numbers", npy(header("<i8", "(1, 1)"), raw<double>({1})), {"unsupported type '<i8'"}},
        BadFile{"text", npy(header("<U10", "(1, 1)"), ""), {"unsupported type '<U10'"}},
        BadFile{"one_dimension", npy(header("<f8", "(2,)"), raw<double>({1, 2})), {"1 dimensions"}},
        BadFile{"three_dimensions", npy(header("<f8", "(1, 2, 1)"), raw<double>({1, 2})), {"(1, 2, 1)"}},
        BadFile{"no_rows", npy(header("<f8", "(0, 2)"), ""), {"empty array"}},
        BadFile{"overflow", npy(kHuge, ""), {"impossible shape"}},
        BadFile{
            "truncated", kX.substr(0, kX.size() - 1), {"truncated", fmt::format("byte {}", kX.size() - 1)}},
        BadFile{"trailing", kX + "z", {"over-long", fmt::format("byte {}", kX.size() + 1)}},
        BadFile{"nan",
                npy(header("<f8", "(1, 2)"), raw<double>({1}) + kNan),
                {"row 0", "column 1", "not finite"}}),
    bad_file_name);

INSTANTIATE_TEST_SUITE_P(
    Y, BadNpy,
    ::testing::Values(
        BadFile{"text", npy(header("<U1", "(1,)"), "abcd"), {"unsupported type '<U1'"}, kX},
        BadFile{"two_dimensions", npy(header("<f8", "(1, 1)"), raw<double>({1})), {"2 dimensions"}, kX},
        BadFile{"count", npy(header("<f8", "(2,)"), raw<double>({1, 2})), {"2 labels", "1 rows"}, kX},
        BadFile{"nan", npy(header("<f8", "(1,)"), kNan), {"row 0", "nan"}, kX},
        BadFile{"too_large",
                npy(header("<i8", "(1,)"), raw<std::int64_t>({(std::int64_t{1} << 53) + 2})),
                {"row 0", "9007199254740994"},
                kX},
        BadFile{"truncated", npy(header("<f8", "(1,)"), "abc"), {"truncated"}, kX}),
    bad_file_name);

}  // namespace
}  // namespace mfl::test
