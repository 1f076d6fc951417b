// A small certificate authority: one CA, a certificate for the server, one for every node. EC keys on P-256, X.509 v3.
//
//   PKI/ca.pem, ca.key            the authority; the key stays where certificates are made
//   PKI/server/, PKI/NODE/        cert.pem, key.pem, ca.pem: what --tls names
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

using Days = std::chrono::duration<int, std::ratio<86400>>;

inline constexpr Days kAuthorityLife{3650};
inline constexpr Days kCertificateLife{365};

// Keys are written with mode 0600, folders with 0700. Files that are there already are an error (kBadConfig), as is a
// folder without an authority; a negative life gives a certificate that has expired.

Result<void> make_authority(const std::filesystem::path& pki, Days life = kAuthorityLife);

// For PKI/server. `names` are host names and addresses, at least one.
Result<void> make_server_certificate(const std::filesystem::path& pki, const std::vector<std::string>& names,
                                     Days life = kCertificateLife);

// For PKI/name. A name is 1 to 63 of a-z, 0-9, '-' and '.', and not "server".
Result<void> make_node_certificate(const std::filesystem::path& pki, const std::string& name,
                                   Days life = kCertificateLife);

// The serial number of a certificate in PEM as lower-case hex; empty when it cannot be read.
std::string certificate_serial(std::string_view pem);

// What --tls FOLDER names.
struct TlsFiles {
  std::string authority, certificate, key;  // PEM
};
Result<TlsFiles> read_tls_folder(const std::filesystem::path& folder);

}  // namespace mfl
