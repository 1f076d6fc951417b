#include "mfl/network/admission.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "mfl/base/files.h"

namespace mfl {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::set<std::string> list_entries(const std::string& text) {
  std::set<std::string> entries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) entries.insert(lower_case(std::move(word)));
  }
  return entries;
}

bool Admission::refresh(const std::filesystem::path& path, List& list) {
  const bool readable = look(path, list);
  if (readable != list.readable) ++version_;
  return list.readable = readable;
}

bool Admission::look(const std::filesystem::path& path, List& list) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  const auto size = error ? 0 : std::filesystem::file_size(path, error);
  if (error) return false;
  if (list.known && list.time == time && list.size == size) return true;
  const auto text = read_file(path);
  if (!text) return false;
  list = {list_entries(*text), time, size, true, list.readable};
  ++version_;
  return true;
}

std::uint64_t Admission::version() {
  if (!files_.revoked.empty()) refresh(files_.revoked, revoked_);
  if (!files_.allowed.empty()) refresh(files_.allowed, allowed_);
  return version_;
}

Result<void> Admission::check() {
  for (auto [path, list] : {std::pair{&files_.allowed, &allowed_}, std::pair{&files_.revoked, &revoked_}})
    if (!path->empty() && !refresh(*path, *list))
      return fail(ErrorCode::kBadConfig, fmt::format("cannot read {}", path->string()),
                  "it is a text file with one name per line; it may be empty");
  return {};
}

std::string Admission::refusal(const std::string& node, const std::string& serial) {
  if (!files_.revoked.empty()) refresh(files_.revoked, revoked_);
  if (is_revoked(node, serial)) return fmt::format("the certificate of {} is revoked", node);
  if (!files_.allowed.empty()) {
    if (!refresh(files_.allowed, allowed_)) return "the list of nodes that may take part cannot be read";
    if (!allowed_.entries.contains(lower_case(node)))
      return fmt::format("{} is not on the list of nodes", node);
  }
  return {};
}

std::optional<std::size_t> Admission::admitted(const std::map<std::string, std::string>& serials) const {
  if (files_.allowed.empty() || !allowed_.known) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::count_if(allowed_.entries, [&](const std::string& node) {
    const auto serial = serials.find(node);
    return !is_revoked(node, serial == serials.end() ? "" : serial->second);
  }));
}

bool Admission::is_revoked(const std::string& node, const std::string& serial) const {
  return revoked_.entries.contains(lower_case(node)) ||
         (!serial.empty() && revoked_.entries.contains(serial));
}

}  // namespace mfl
