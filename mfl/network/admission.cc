#include "mfl/network/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "mfl/base/files.h"
#include "mfl/base/visible.h"

namespace mfl {
namespace {

constexpr std::size_t kLongestName = 253;

}  // namespace

Admission::Admission(AdmissionFiles files)
    : allowed_{std::move(files.allowed), AdmissionList::Kind::kAllowed},
      revoked_{std::move(files.revoked), AdmissionList::Kind::kRevoked} {}

bool Admission::is_readable(File& file, bool& changed) {
  // Of a file younger than this a second change may have the same time.
  constexpr std::chrono::seconds kSettled{2};
  std::error_code error;
  const auto time = std::filesystem::last_write_time(file.path, error);
  const auto size = error ? 0 : std::filesystem::file_size(file.path, error);
  if (error) return false;
  const bool same = file.time == time && file.text.size() == size;
  if (file.known && file.readable && same && file.read_at - time > kSettled) return true;
  const auto now = std::filesystem::file_time_type::clock::now();
  auto text = read_file(file.path);
  if (!text) return false;
  changed = !file.known || file.text != *text;
  if (changed) file.list = parse_admission_list(*text, file.kind);
  file.text = *std::move(text);
  file.time = time;
  file.read_at = now;
  file.known = true;
  return true;
}

void Admission::look(File& file) {
  if (file.path.empty()) return;
  bool changed = false;
  const bool readable = is_readable(file, changed);
  if (changed || readable != file.readable) ++version_;
  file.readable = readable;
}

std::uint64_t Admission::refresh(Clock::time_point now) {
  if (looked_ && now - *looked_ < kPause) return version_;
  looked_ = now;
  look(revoked_);
  look(allowed_);
  return version_;
}

Result<void> Admission::check() {
  for (File* file : {&allowed_, &revoked_}) {
    look(*file);
    if (!file->path.empty() && !file->readable)
      return fail(ErrorCode::kBadConfig, fmt::format("cannot read {}", file->path.string()),
                  "it is a text file with one name per line; it may be empty");
  }
  return {};
}

std::string Admission::standing(const std::string& node, const std::string& serial) const {
  if (revoked_.list.has(node, serial)) return "revoked";
  const bool unlisted = !allowed_.path.empty() && allowed_.readable && !allowed_.list.has(node, serial);
  return unlisted ? "not listed" : "";
}

std::string Admission::refusal(const std::string& node, const std::string& serial) const {
  if (revoked_.list.has(node, serial))
    return fmt::format("the certificate of {} is revoked", visible(node, kLongestName));
  if (allowed_.path.empty()) return {};
  if (!allowed_.readable) return "the list of nodes that may take part cannot be read";
  if (!allowed_.list.has(node, serial))
    return fmt::format("{} is not on the list of nodes", visible(node, kLongestName));
  return {};
}

std::optional<std::uint64_t> Admission::max_samples(const std::string& node) const {
  const auto found = allowed_.list.max_samples.find(lower_case(node));
  if (found == allowed_.list.max_samples.end()) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> Admission::admitted(const std::map<std::string, std::string>& serials) const {
  if (allowed_.path.empty() || !allowed_.known) return std::nullopt;
  std::map<std::string, std::string> serial_of;  // by the name in lower case
  for (const auto& [name, serial] : serials) serial_of[lower_case(name)] = normal_serial(serial);
  const AdmissionList& list = allowed_.list;
  auto count = std::ranges::count_if(list.names, [&](const std::string& name) {
    const auto serial = serial_of.find(name);
    return !revoked_.list.has(name, serial == serial_of.end() ? "" : serial->second);
  });
  const auto has_listed_name = [&](const std::string& serial) {
    return std::ranges::any_of(serial_of, [&](const auto& known) {
      return known.second == serial && list.names.contains(known.first);
    });
  };
  count += std::ranges::count_if(list.serials, [&](const std::string& serial) {
    return !revoked_.list.serials.contains(serial) && !has_listed_name(serial);
  });
  return static_cast<std::size_t>(count);
}

std::vector<ListWarning> Admission::warnings() const {
  std::vector<ListWarning> out;
  for (const File* file : {&allowed_, &revoked_}) {
    if (file->path.empty()) continue;
    const std::string name = file->path.string();
    if (!file->readable)
      out.push_back({name, 0,
                     file->kind == AdmissionList::Kind::kAllowed
                         ? "cannot be read: no node is admitted"
                         : "cannot be read: its last contents stay in force"});
    for (const ListWarning& warning : file->list.warnings) out.push_back({name, warning.line, warning.text});
  }
  return out;
}

}  // namespace mfl
