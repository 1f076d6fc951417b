#include "mfl/network/transport/tls.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "mfl/network/address.h"

namespace mfl {
namespace {

using Bio = std::unique_ptr<BIO, OpensslFree<BIO_free>>;
using X509Pointer = std::unique_ptr<X509, OpensslFree<X509_free>>;
using PrivateKeyPointer = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;

constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};  // with its length, as ALPN has it

Bio memory(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

X509Pointer next_certificate(const Bio& bio) {
  return X509Pointer(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Result<void> trust(SSL_CTX* context, const std::string& authority, bool name_it) {
  const Bio bio = memory(authority);
  int found = 0;
  while (const X509Pointer certificate = next_certificate(bio)) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) != 1) break;
    if (name_it) SSL_CTX_add_client_CA(context, certificate.get());
    ++found;
  }
  ERR_clear_error();
  if (found == 0) return fail(ErrorCode::kBadConfig, "ca.pem has no certificate", "make it with mfl certs");
  return {};
}

Result<void> identify_as(SSL_CTX* context, const TlsFiles& files) {
  const auto unusable = [](std::string_view what) {
    ERR_clear_error();
    return fail(ErrorCode::kBadConfig, std::string(what), "make them with mfl certs");
  };
  const Bio chain = memory(files.certificate);
  const X509Pointer own = next_certificate(chain);
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1)
    return unusable("cert.pem has no usable certificate");
  while (X509Pointer more = next_certificate(chain))
    if (SSL_CTX_add0_chain_cert(context, more.get()) == 1) (void)more.release();
  ERR_clear_error();  // the end of the file
  const Bio bio = memory(files.key);
  const PrivateKeyPointer key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return unusable("key.pem is not the key of cert.pem");
  return {};
}

int choose_http2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                 unsigned count, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kHttp2.data(), kHttp2.size(), offered, count) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

Result<TlsContext> make_context(const SSL_METHOD* method) {
  TlsContext context(SSL_CTX_new(method));
  if (!context) return fail(ErrorCode::kNetwork, "cannot start OpenSSL: " + tls_error());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  return context;
}

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the peer has gone.
int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int judge_io(BIO* bio, ssize_t moved, int retry) {
  BIO_clear_retry_flags(bio);
  if (moved < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(moved);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  return judge_io(bio, ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL),
                  BIO_FLAGS_WRITE);
}

int read_socket(BIO* bio, char* bytes, int size) {
  return judge_io(bio, ::recv(socket_of(bio), bytes, static_cast<std::size_t>(size), 0), BIO_FLAGS_READ);
}

long control_socket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
  static const auto method = [] {
    std::unique_ptr<BIO_METHOD, OpensslFree<BIO_meth_free>> made(
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE"));
    BIO_meth_set_write(made.get(), write_socket);
    BIO_meth_set_read(made.get(), read_socket);
    BIO_meth_set_ctrl(made.get(), control_socket);
    return made;
  }();
  return method.get();
}

TlsStream make_stream(const TlsContext& context, int socket) {
  TlsStream stream(SSL_new(context.get()));
  BIO* bio = stream ? BIO_new(socket_method()) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(stream.get(), bio, bio);
  return stream;
}

// A certificate for servers is none for clients, except that this server may ask itself.
int accept_own(int verified, X509_STORE_CTX* check) {
  if (verified == 1 || X509_STORE_CTX_get_error(check) != X509_V_ERR_INVALID_PURPOSE) return verified;
  const auto* const stream =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const X509* const own = stream == nullptr ? nullptr : SSL_get_certificate(stream);
  if (own == nullptr || X509_cmp(own, X509_STORE_CTX_get0_cert(check)) != 0) return verified;
  X509_STORE_CTX_set_error(check, X509_V_OK);
  return 1;
}

}  // namespace

Result<TlsContext> make_server_context(const TlsFiles& files) {
  MFL_TRY(TlsContext context, make_context(TLS_server_method()));
  MFL_CHECK(trust(context.get(), files.authority, true));
  MFL_CHECK(identify_as(context.get(), files));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, accept_own);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_http2, nullptr);
  return context;
}

Result<TlsContext> make_client_context(const TlsFiles& files) {
  MFL_TRY(TlsContext context, make_context(TLS_client_method()));
  MFL_CHECK(trust(context.get(), files.authority, false));
  if (!files.certificate.empty()) MFL_CHECK(identify_as(context.get(), files));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), kHttp2.data(), kHttp2.size());
  return context;
}

TlsStream server_stream(const TlsContext& context, int socket) {
  TlsStream stream = make_stream(context, socket);
  if (stream) SSL_set_accept_state(stream.get());
  return stream;
}

TlsStream client_stream(const TlsContext& context, int socket, const std::string& host) {
  TlsStream stream = make_stream(context, socket);
  if (!stream) return stream;
  X509_VERIFY_PARAM* wanted = SSL_get0_param(stream.get());
  if (is_ip_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
    SSL_ctrl(stream.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
  }
  SSL_set_connect_state(stream.get());
  return stream;
}

bool speaks_http2(const TlsStream& stream) {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(stream.get(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

std::string peer_certificate(const TlsStream& stream) {
  const X509Pointer certificate(SSL_get1_peer_certificate(stream.get()));
  if (!certificate) return {};
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate.get()) != 1) return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

bool shows_own_certificate(const TlsStream& stream) {
  const X509Pointer certificate(SSL_get1_peer_certificate(stream.get()));
  const X509* const own = SSL_get_certificate(stream.get());
  return certificate && own != nullptr && X509_cmp(own, certificate.get()) == 0;
}

Result<void> check_identity(const TlsFiles& files, CertificateFacts::Role role) {
  const bool server = role == CertificateFacts::Role::kServer;
  MFL_TRY(const TlsContext context, make_context(server ? TLS_server_method() : TLS_client_method()));
  MFL_CHECK(trust(context.get(), files.authority, false));
  MFL_CHECK(identify_as(context.get(), files));
  const std::unique_ptr<X509_STORE_CTX, OpensslFree<X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context.get(), &chain);
  if (!check || X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context.get()),
                                    SSL_CTX_get0_certificate(context.get()), chain) != 1)
    return fail(ErrorCode::kInternal, "OpenSSL cannot check a certificate: " + tls_error());
  X509_STORE_CTX_set_purpose(check.get(), server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  X509_STORE_CTX_set_flags(check.get(), X509_V_FLAG_NO_CHECK_TIME);  // an expired one is warned of
  if (X509_verify_cert(check.get()) == 1) return {};
  ERR_clear_error();
  const auto facts = read_certificate(files.certificate);
  const int error = X509_STORE_CTX_get_error(check.get());
  const std::string_view needed = role_name(role);
  if (error == X509_V_ERR_INVALID_PURPOSE && facts)
    return fail(ErrorCode::kBadConfig,
                fmt::format("cert.pem is a certificate of the role {} (of {}), and a {} needs its own",
                            role_name(facts->role), facts->name, needed),
                fmt::format("give --tls the folder that mfl certs {} makes", needed));
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("cert.pem is not of the authority in ca.pem: {}", X509_verify_cert_error_string(error)),
      "give --tls a folder as mfl certs makes it");
}

bool tls_refused() {
  switch (ERR_GET_REASON(ERR_peek_error())) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE: return true;
    default: return false;
  }
}

std::string tls_error() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  if (error == 0) return "the connection was closed";
  switch (ERR_GET_REASON(error)) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return "the peer says that this certificate has expired";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED: return "the peer says that this certificate is revoked";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return "the peer does not know the authority of this certificate";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE: return "the peer does not accept this certificate";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return "the peer requires a certificate";
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return "the peer's certificate is not of this authority, not for this host, or expired";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNEXPECTED_EOF_WHILE_READING: return "the peer does not speak TLS or closed the connection";
    default: break;
  }
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "TLS error";
}

}  // namespace mfl
