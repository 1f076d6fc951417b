#include "mfl/network/certs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "mfl/base/files.h"
#include "mfl/network/address.h"
#include "mfl/network/openssl_free.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

using PrivateKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, OpensslFree<X509_free>>;
using Text = std::unique_ptr<BIO, OpensslFree<BIO_free>>;
using Number = std::unique_ptr<BIGNUM, OpensslFree<BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>>;

tl::unexpected<Error> openssl_failure(std::string_view doing) {
  std::array<char, 256> reason{};
  ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
  return fail(ErrorCode::kInternal, fmt::format("OpenSSL cannot {}: {}", doing, reason.data()));
}

std::string bio_text(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);  // NOLINT(google-runtime-int)
  return {bytes, static_cast<std::size_t>(size)};
}

Result<void> write_new(const fs::path& path, std::string_view bytes, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0)
    return fail(errno == EEXIST ? ErrorCode::kBadConfig : ErrorCode::kRunFailed,
                fmt::format("cannot create {}: {}", path.string(), std::strerror(errno)),
                errno == EEXIST
                    ? "to replace a certificate use mfl certs renew; otherwise choose another folder or name"
                    : "check the folder");
  const bool written =
      ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && ::fsync(fd) == 0;
  ::close(fd);
  if (!written)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)),
                "check that there is space");
  return {};
}

Result<void> make_private_folder(const fs::path& path) {
  MFL_CHECK(make_folder(path));
  if (::chmod(path.c_str(), 0700) != 0)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot protect {}: {}", path.string(), std::strerror(errno)));
  return {};
}

Result<std::string> key_pem(EVP_PKEY* key) {
  const Text bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_failure("write a key");
  return bio_text(bio.get());
}

Result<std::string> certificate_pem(X509* certificate) {
  const Text bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) return openssl_failure("write a certificate");
  return bio_text(bio.get());
}

Result<PrivateKey> new_key() {
  PrivateKey key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("make a key");
  return key;
}

struct Authority {
  Certificate certificate;
  PrivateKey key;
  std::string pem;
};

struct CertificateRequest {
  std::string name;
  std::vector<std::pair<int, std::string>> extensions;  // NID and value as in openssl.cnf
  Days life;
};

// Signed by `issuer`, or by itself when that is null.
Result<Certificate> sign(const CertificateRequest& request, EVP_PKEY* key, const Authority* issuer) {
  constexpr int kSerialBits = 127, kVersion3 = 2, kClockSkewSeconds = 300, kDay = 86400;
  Certificate certificate(X509_new());
  const Number serial(BN_new());
  if (!certificate || !serial ||
      BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate.get())) == nullptr)
    return openssl_failure("begin a certificate");
  X509_set_version(certificate.get(), kVersion3);
  const long life = static_cast<long>(request.life.count()) * kDay;  // NOLINT(google-runtime-int)
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()),
                  std::min<long>(-kClockSkewSeconds, life - kDay));  // NOLINT
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), life);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(request.name.c_str()), -1, -1, 0);
  X509* const signer = issuer == nullptr ? certificate.get() : issuer->certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  X509V3_CTX context;
  X509V3_set_ctx(&context, signer, certificate.get(), nullptr, nullptr, 0);
  for (const auto& [nid, value] : request.extensions) {
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    if (!extension || X509_add_ext(certificate.get(), extension.get(), -1) != 1)
      return openssl_failure(fmt::format("add {} to a certificate", value));
  }
  if (X509_sign(certificate.get(), issuer == nullptr ? key : issuer->key.get(), EVP_sha256()) == 0)
    return openssl_failure("sign a certificate");
  return certificate;
}

Result<Authority> read_authority(const fs::path& pki) {
  constexpr const char* kHint = "make one with: mfl certs init PKI";
  const auto certificate_text = read_file(pki / "ca.pem");
  const auto key_text = read_file(pki / "ca.key");
  if (!certificate_text || !key_text)
    return fail(ErrorCode::kBadConfig, fmt::format("{} holds no certificate authority", pki.string()), kHint);
  const Text certificate_bio(
      BIO_new_mem_buf(certificate_text->data(), static_cast<int>(certificate_text->size())));
  const Text key_bio(BIO_new_mem_buf(key_text->data(), static_cast<int>(key_text->size())));
  Authority authority{Certificate(PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr)),
                      PrivateKey(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr)),
                      *certificate_text};
  if (!authority.certificate || !authority.key)
    return fail(ErrorCode::kBadConfig, fmt::format("the authority in {} cannot be read", pki.string()),
                kHint);
  return authority;
}

// PEM texts of a new key and its certificate.
struct Issued {
  std::string key, certificate, authority;
};

Result<Issued> issue(const fs::path& pki, CertificateRequest request) {
  MFL_TRY(const Authority authority, read_authority(pki));
  request.extensions.insert(request.extensions.begin(), {{NID_basic_constraints, "critical,CA:FALSE"},
                                                         {NID_key_usage, "critical,digitalSignature"},
                                                         {NID_subject_key_identifier, "hash"},
                                                         {NID_authority_key_identifier, "keyid"}});
  MFL_TRY(const PrivateKey key, new_key());
  MFL_TRY(const Certificate certificate, sign(request, key.get(), &authority));
  Issued out;
  out.authority = authority.pem;
  MFL_TRY(out.key, key_pem(key.get()));
  MFL_TRY(out.certificate, certificate_pem(certificate.get()));
  return out;
}

Result<void> issue_new(const fs::path& pki, const std::string& folder, const CertificateRequest& request) {
  MFL_TRY(const Issued issued, issue(pki, request));
  MFL_CHECK(make_private_folder(pki / folder));
  MFL_CHECK(write_new(pki / folder / "key.pem", issued.key, 0600));
  MFL_CHECK(write_new(pki / folder / "cert.pem", issued.certificate, 0644));
  return write_new(pki / folder / "ca.pem", issued.authority, 0644);
}

// Replaces key and certificate. Both are written beside the old ones before either is renamed.
Result<void> issue_again(const fs::path& pki, const std::string& folder, const CertificateRequest& request) {
  MFL_TRY(const Issued issued, issue(pki, request));
  const fs::path place = pki / folder;
  const std::pair<fs::path, fs::path> renames[] = {{place / ".key.pem.new", place / "key.pem"},
                                                   {place / ".cert.pem.new", place / "cert.pem"}};
  std::error_code error;
  for (const auto& [made, target] : renames) fs::remove(made, error);  // of a renewal that was interrupted
  MFL_CHECK(write_new(renames[0].first, issued.key, 0600));
  MFL_CHECK(write_new(renames[1].first, issued.certificate, 0644));
  for (const auto& [made, target] : renames) {
    fs::rename(made, target, error);
    if (error)
      return fail(ErrorCode::kRunFailed,
                  fmt::format("cannot replace {}: {}", target.string(), error.message()),
                  "check the folder and renew again");
  }
  return sync_folder(place);
}

// Nothing that could end a value of an extension and begin another.
bool plain_name(std::string_view name, bool address) {
  constexpr std::size_t kLongest = 253;
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || (address && c == ':');
  };
  return !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), fits);
}

constexpr const char* kServerFolder = "server";

Result<CertificateRequest> server_request(const std::vector<std::string>& names, Days life) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const bool address = is_ip_address(name);
    if (!plain_name(name, address))
      return fail(ErrorCode::kBadConfig, fmt::format("\"{}\" is not a host name or an address", name),
                  "name the server as nodes will reach it, such as fl.example.org");
    parts.push_back((address ? "IP:" : "DNS:") + name);
  }
  if (parts.empty()) return fail(ErrorCode::kBadConfig, "a server needs a host name or an address");
  return CertificateRequest{
      names.front(),
      {{NID_ext_key_usage, "serverAuth"}, {NID_subject_alt_name, fmt::format("{}", fmt::join(parts, ","))}},
      life};
}

Result<CertificateRequest> node_request(const std::string& name, Days life) {
  constexpr std::size_t kLongest = 63;
  if (!plain_name(name, false) || name.size() > kLongest || name == kServerFolder || name.front() == '.' ||
      name.find("..") != std::string::npos)
    return fail(ErrorCode::kBadConfig, fmt::format("\"{}\" cannot be the name of a node", name),
                "use up to 63 of a-z, 0-9, '-' and '.', and not \"server\"");
  return CertificateRequest{
      name, {{NID_ext_key_usage, "clientAuth"}, {NID_subject_alt_name, "DNS:" + name}}, life};
}

}  // namespace

Result<void> make_authority(const fs::path& pki, Days life) {
  MFL_TRY(const PrivateKey key, new_key());
  const CertificateRequest request{"mfl authority",
                                   {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                    {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                    {NID_subject_key_identifier, "hash"}},
                                   life};
  MFL_TRY(const Certificate certificate, sign(request, key.get(), nullptr));
  MFL_TRY(const std::string key_text, key_pem(key.get()));
  MFL_TRY(const std::string certificate_text, certificate_pem(certificate.get()));
  MFL_CHECK(make_private_folder(pki));
  MFL_CHECK(write_new(pki / "ca.key", key_text, 0600));
  return write_new(pki / "ca.pem", certificate_text, 0644);
}

Result<void> make_server_certificate(const fs::path& pki, const std::vector<std::string>& names, Days life) {
  MFL_TRY(const CertificateRequest request, server_request(names, life));
  return issue_new(pki, kServerFolder, request);
}

Result<void> make_node_certificate(const fs::path& pki, const std::string& name, Days life) {
  MFL_TRY(const CertificateRequest request, node_request(name, life));
  return issue_new(pki, name, request);
}

Result<CertificateFacts> renew_certificate(const fs::path& pki, const std::string& name, Days life) {
  if (name != kServerFolder) MFL_CHECK(node_request(name, life));
  const auto old_text = read_file(pki / name / "cert.pem");
  if (!old_text)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} has no certificate \"{}\" to renew", pki.string(), name),
                fmt::format("see mfl certs list {}", pki.string()));
  auto old = read_certificate(*old_text);
  if (!old) return fail_because(std::move(old).error(), (pki / name / "cert.pem").string());
  MFL_TRY(const CertificateRequest request,
          name == kServerFolder ? server_request(old->names, life) : node_request(name, life));
  MFL_CHECK(make_private_folder(pki / kOldCertificates));
  MFL_CHECK(write_file(pki / kOldCertificates / (old->serial + ".pem"), *old_text));
  MFL_CHECK(issue_again(pki, name, request));
  return *std::move(old);
}

Result<TlsFiles> read_tls_folder(const fs::path& folder) {
  TlsFiles files;
  for (const auto& [name, text] :
       {std::pair{"ca.pem", &files.authority}, std::pair{"cert.pem", &files.certificate},
        std::pair{"key.pem", &files.key}}) {
    auto read = read_file(folder / name);
    if (!read)
      return fail(ErrorCode::kBadConfig, fmt::format("--tls {}: {}", folder.string(), read.error().text()),
                  "mfl certs makes such folders, with ca.pem, cert.pem and key.pem");
    *text = *std::move(read);
  }
  struct stat info = {};
  constexpr mode_t kOthers = 077;
  if (::stat((folder / "key.pem").c_str(), &info) == 0 && (info.st_mode & kOthers) != 0)
    return fail(ErrorCode::kBadConfig, fmt::format("--tls {}: others may read key.pem", folder.string()),
                fmt::format("chmod 600 {}", (folder / "key.pem").string()));
  return files;
}

Result<std::optional<TlsFiles>> tls_or_plaintext(const std::string& folder, bool plaintext,
                                                 std::string_view who, std::string hint) {
  if (folder.empty() == !plaintext)
    return fail(ErrorCode::kBadConfig,
                plaintext ? "--tls and --plaintext exclude each other" : fmt::format("{} needs --tls", who),
                std::move(hint));
  if (plaintext) return std::nullopt;
  return read_tls_folder(folder);
}

}  // namespace mfl
