// A small certificate authority: one CA, a certificate for the server, one for every node. EC keys on P-256, X.509 v3.
//
//   PKI/ca.pem, ca.key             the authority; the key stays where certificates are made
//   PKI/server/, PKI/NODE/         cert.pem, key.pem, ca.pem: what --tls names
//   PKI/old_certificates/          certificates that were renewed, as SERIAL.pem
//   PKI/revoked_certificates.txt   serial numbers, for mfl server --revoked
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/network/certificate.h"

namespace mfl {

using Days = std::chrono::duration<int, std::ratio<86400>>;

inline constexpr Days kAuthorityLife{3650};
inline constexpr Days kCertificateLife{365};

// No node can have one of these names.
inline constexpr const char* kOldCertificates = "old_certificates";
inline constexpr const char* kRevokedCertificates = "revoked_certificates.txt";

// Keys are written with mode 0600, folders with 0700. Existing files are an error (kBadConfig), as is a folder without an
// authority; a negative life gives a certificate that has expired.

Result<void> make_authority(const std::filesystem::path& pki, Days life = kAuthorityLife);

// For PKI/server. `names` are host names and addresses, at least one.
Result<void> make_server_certificate(const std::filesystem::path& pki, const std::vector<std::string>& names,
                                     Days life = kCertificateLife);

// For PKI/name. A name is 1 to 63 of a-z, 0-9, '-' and '.', and not "server".
Result<void> make_node_certificate(const std::filesystem::path& pki, const std::string& name,
                                   Days life = kCertificateLife);

// A new key and certificate in PKI/name, "server" for the server's, with the names of the old one, which is kept in
// PKI/old_certificates. Each file is replaced atomically. Gives the old certificate, which stays valid until it expires or is revoked.
Result<CertificateFacts> renew_certificate(const std::filesystem::path& pki, const std::string& name,
                                           Days life = kCertificateLife);

struct IssuedCertificate {
  CertificateFacts facts;
  bool current = true;  // false: renewed since
  bool revoked = false;
};

// The authority, the server, then nodes by name; renewed ones after the current one.
Result<std::vector<IssuedCertificate>> list_certificates(const std::filesystem::path& pki);

// Adds to PKI/revoked_certificates.txt every unexpired certificate of a node, by its name, or one certificate, by its serial number.
// Gives those that were not on the list before. Nodes do not read the list: the server's certificate is refused (kBadConfig).
Result<std::vector<CertificateFacts>> revoke_certificates(const std::filesystem::path& pki,
                                                          const std::string& name_or_serial);

// What --tls FOLDER names.
struct TlsFiles {
  std::string authority, certificate, key;  // PEM
};
Result<TlsFiles> read_tls_folder(const std::filesystem::path& folder);
// The same for the flags --tls and --plaintext of a command; nothing for the latter. kBadConfig unless there is one of the two, with
// `who` needs it ("a node").
Result<std::optional<TlsFiles>> tls_or_plaintext(const std::string& folder, bool plaintext,
                                                 std::string_view who, std::string hint);

}  // namespace mfl
