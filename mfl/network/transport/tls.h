// TLS 1.2 and 1.3 with certificates on both sides, for HTTP/2. No session is ever resumed, so that every connection shows its
// certificate.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "mfl/base/result.h"
#include "mfl/network/certificate.h"
#include "mfl/network/certs.h"
#include "mfl/network/openssl_free.h"

namespace mfl {

using TlsContext = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using TlsStream = std::unique_ptr<SSL, OpensslFree<SSL_free>>;

// For a server: peers must have an unexpired certificate of the authority that is for clients. kBadConfig for unusable files.
Result<TlsContext> make_server_context(const TlsFiles& files);
// For a node. `files` may have no certificate and key; a server will then refuse it.
Result<TlsContext> make_client_context(const TlsFiles& files);

// For one connection on this socket, which it does not own.
TlsStream server_stream(const TlsContext& context, int socket);
// The server's certificate must be for `host`, a name or an address.
TlsStream client_stream(const TlsContext& context, int socket, const std::string& host);

bool speaks_http2(const TlsStream& stream);  // as both sides agreed in the handshake

// The peer's certificate, in PEM; empty where it has none.
std::string peer_certificate(const TlsStream& stream);

// The peer has the certificate of this side, and its key.
bool shows_own_certificate(const TlsStream& stream);

// kBadConfig for a certificate that peers would refuse because it is for another role than kServer or kNode, or of another authority
// than that of its folder. Its dates are not judged.
Result<void> check_identity(const TlsFiles& files, CertificateFacts::Role role);

// Takes the first error from OpenSSL's queue, in plain words, and clears the queue.
std::string tls_error();
// tls_error() would say that the peer refused this side's certificate: trying again does not help.
bool tls_refused();

}  // namespace mfl
