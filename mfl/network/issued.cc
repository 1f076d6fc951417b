#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "mfl/base/files.h"
#include "mfl/network/admission_list.h"
#include "mfl/network/certs.h"
#include "mfl/network/expiry.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

Result<AdmissionList> read_revoked(const fs::path& pki, std::string& text) {
  std::error_code error;
  if (!fs::exists(pki / kRevokedCertificates, error)) return AdmissionList{};
  MFL_TRY(text, read_file(pki / kRevokedCertificates));
  return parse_admission_list(text, AdmissionList::Kind::kRevoked);
}

Result<void> add_issued(const fs::path& file, bool current, std::vector<IssuedCertificate>& to) {
  MFL_TRY(const std::string text, read_file(file));
  auto facts = read_certificate(text);
  if (!facts) return fail_because(std::move(facts).error(), file.string());
  to.push_back({*std::move(facts), current, false});
  return {};
}

Result<std::vector<fs::path>> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> out;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) out.push_back(at->path());
  if (error)
    return fail(ErrorCode::kBadConfig, fmt::format("cannot read {}: {}", folder.string(), error.message()));
  return out;
}

}  // namespace

Result<std::vector<IssuedCertificate>> list_certificates(const fs::path& pki) {
  std::error_code error;
  if (!fs::exists(pki / "ca.pem", error))
    return fail(ErrorCode::kBadConfig, fmt::format("{} holds no certificate authority", pki.string()),
                "make one with: mfl certs init PKI");
  std::vector<IssuedCertificate> out;
  MFL_CHECK(add_issued(pki / "ca.pem", true, out));
  MFL_TRY(const auto folders, entries_of(pki));
  for (const fs::path& folder : folders)
    if (fs::exists(folder / "cert.pem", error)) MFL_CHECK(add_issued(folder / "cert.pem", true, out));
  if (fs::exists(pki / kOldCertificates, error)) {
    MFL_TRY(const auto files, entries_of(pki / kOldCertificates));
    for (const fs::path& file : files)
      if (file.extension() == ".pem") MFL_CHECK(add_issued(file, false, out));
  }
  std::string ignored;
  MFL_TRY(const auto revoked, read_revoked(pki, ignored));
  for (IssuedCertificate& one : out) one.revoked = revoked.has(one.facts.name, one.facts.serial);
  const auto order = [](const IssuedCertificate& one) {
    return std::tuple(one.facts.role, one.facts.name, !one.current, one.facts.expires, one.facts.serial);
  };
  std::ranges::sort(out, {}, order);
  return out;
}

Result<std::vector<CertificateFacts>> revoke_certificates(const fs::path& pki,
                                                          const std::string& name_or_serial) {
  MFL_TRY(const auto all, list_certificates(pki));
  std::vector<CertificateFacts> meant;
  for (const auto& [facts, current, revoked] : all)
    if (facts.role == CertificateFacts::Role::kNode && facts.name == name_or_serial &&
        days_left(facts.expires) >= 0)
      meant.push_back(facts);
  const std::string serial = normal_serial(name_or_serial);
  for (const auto& [facts, current, revoked] : all)
    if (meant.empty() && (normal_serial(facts.serial) == serial ||
                          (name_or_serial == "server" && facts.role == CertificateFacts::Role::kServer)))
      meant.push_back(facts);
  if (meant.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} has no unexpired certificate with the name or serial number {}", pki.string(),
                            name_or_serial),
                fmt::format("see mfl certs list {}", pki.string()));
  if (meant.front().role != CertificateFacts::Role::kNode)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} is the {}'s certificate: nodes do not read the revocation list",
                            name_or_serial, role_name(meant.front().role)),
                "if its key is lost, make a new authority and new certificates in another folder");
  std::string text;
  MFL_TRY(const auto before, read_revoked(pki, text));
  std::erase_if(meant, [&](const CertificateFacts& facts) { return before.has({}, facts.serial); });
  if (meant.empty()) return meant;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  for (const CertificateFacts& facts : meant)
    text += fmt::format("{}  # {}, revoked {}\n", facts.serial, facts.name, date_text(now));
  MFL_CHECK(write_file(pki / kRevokedCertificates, text));
  return meant;
}

}  // namespace mfl
