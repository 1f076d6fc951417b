#include "mfl/network/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <cctype>
#include <ctime>
#include <memory>

#include "mfl/network/openssl_free.h"

namespace mfl {
namespace {

std::string serial_of(const X509* certificate) {
  const std::unique_ptr<BIGNUM, OpensslFree<BN_free>> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  char* hex = BN_bn2hex(number.get());
  std::string out(hex);
  OPENSSL_free(hex);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string common_name(const X509* certificate) {
  std::array<char, 256> text{};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text.data(),
                                             static_cast<int>(text.size()));
  return size < 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string asn1_text(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  constexpr int kIpv4Bytes = 4;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(address) == kIpv4Bytes ? AF_INET : AF_INET6;
  const char* made = ::inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size());
  return made == nullptr ? "" : made;
}

std::vector<std::string> alternative_names(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> out;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) out.push_back(asn1_text(name->d.dNSName));
    if (name->type == GEN_IPADD) out.push_back(address_text(name->d.iPAddress));
  }
  return out;
}

CertificateFacts::Role role_of(X509* certificate) {
  if (X509_check_ca(certificate) != 0) return CertificateFacts::Role::kAuthority;
  const std::uint32_t usage = X509_get_extended_key_usage(certificate);
  if (usage == UINT32_MAX) return CertificateFacts::Role::kOther;
  if ((usage & XKU_SSL_SERVER) != 0) return CertificateFacts::Role::kServer;
  if ((usage & XKU_SSL_CLIENT) != 0) return CertificateFacts::Role::kNode;
  return CertificateFacts::Role::kOther;
}

}  // namespace

Result<CertificateFacts> read_certificate(std::string_view pem) {
  const std::unique_ptr<BIO, OpensslFree<BIO_free>> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const std::unique_ptr<X509, OpensslFree<X509_free>> certificate(
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  std::tm expires = {};
  if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &expires) != 1)
    return fail(ErrorCode::kBadData, "not a certificate in PEM format");
  return CertificateFacts{common_name(certificate.get()), alternative_names(certificate.get()),
                          serial_of(certificate.get()), role_of(certificate.get()),
                          std::chrono::sys_seconds(std::chrono::seconds(::timegm(&expires)))};
}

std::string_view role_name(CertificateFacts::Role role) {
  switch (role) {
    case CertificateFacts::Role::kAuthority: return "authority";
    case CertificateFacts::Role::kServer: return "server";
    case CertificateFacts::Role::kNode: return "node";
    case CertificateFacts::Role::kOther: break;
  }
  return "other";
}

}  // namespace mfl
