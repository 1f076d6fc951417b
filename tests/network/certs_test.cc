#include "mfl/network/certs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "mfl/base/files.h"
#include "mfl/network/admission.h"
#include "mfl/network/expiry.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777U;
}

CertificateFacts facts_of(const fs::path& path) { return read_certificate(read_file(path).value()).value(); }

TEST(Certs, MakesAnAuthorityAServerAndNodes) {
  const auto folder = TempFolder::make().value();
  const fs::path pki = folder.path() / "pki";
  ASSERT_TRUE(make_authority(pki));
  ASSERT_TRUE(make_server_certificate(pki, {"fl.example.org", "192.0.2.7", "::1"}));
  ASSERT_TRUE(make_node_certificate(pki, "hospital-a"));
  for (const fs::path& key : {pki / "ca.key", pki / "server" / "key.pem", pki / "hospital-a" / "key.pem"})
    EXPECT_EQ(mode_of(key), 0600U) << key;
  for (const fs::path& private_folder : {pki, pki / "server", pki / "hospital-a"})
    EXPECT_EQ(mode_of(private_folder), 0700U) << private_folder;
  const auto files = read_tls_folder(pki / "hospital-a");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->authority, read_file(pki / "ca.pem").value());
  const CertificateFacts node = facts_of(pki / "hospital-a" / "cert.pem");
  EXPECT_EQ(node.name, "hospital-a");
  EXPECT_EQ(node.names, std::vector<std::string>{"hospital-a"});
  EXPECT_EQ(node.role, CertificateFacts::Role::kNode);
  EXPECT_GE(node.serial.size(), 24U);
  EXPECT_THAT(days_left(node.expires), ::testing::AnyOf(364, 365));
  const CertificateFacts server = facts_of(pki / "server" / "cert.pem");
  EXPECT_EQ(server.names, (std::vector<std::string>{"fl.example.org", "192.0.2.7", "::1"}));
  EXPECT_EQ(server.role, CertificateFacts::Role::kServer);
  EXPECT_NE(server.serial, node.serial);
  EXPECT_EQ(facts_of(pki / "ca.pem").role, CertificateFacts::Role::kAuthority);
  EXPECT_FALSE(read_certificate("nonsense"));
}

TEST(Certs, RefusesWhatItShould) {
  const auto folder = TempFolder::make().value();
  const fs::path pki = folder.path() / "pki";
  EXPECT_EQ(make_node_certificate(pki, "a").error().code, ErrorCode::kBadConfig);
  ASSERT_TRUE(make_authority(pki));
  EXPECT_EQ(make_authority(pki).error().code, ErrorCode::kBadConfig);
  for (const char* bad : {"", "server", "A", "a/b", "..", ".a", "a,DNS:b", "a b", "a\nb"})
    EXPECT_EQ(make_node_certificate(pki, bad).error().code, ErrorCode::kBadConfig) << bad;
  for (const char* bad : {"", "a,IP:1.2.3.4", "x y"})
    EXPECT_EQ(make_server_certificate(pki, {bad}).error().code, ErrorCode::kBadConfig) << bad;
  ASSERT_TRUE(make_node_certificate(pki, "a"));
  const std::string before = read_file(pki / "a" / "key.pem").value();
  EXPECT_EQ(make_node_certificate(pki, "a").error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(read_file(pki / "a" / "key.pem").value(), before);
}

TEST(Certs, RenewalReplacesKeyAndCertificateAndKeepsTheOldOneListed) {
  const auto folder = TempFolder::make().value();
  const fs::path pki = folder.path() / "pki";
  ASSERT_TRUE(make_authority(pki));
  ASSERT_TRUE(make_server_certificate(pki, {"fl.example.org", "192.0.2.7"}));
  ASSERT_TRUE(make_node_certificate(pki, "a", Days(10)));
  ASSERT_TRUE(write_file(pki / "a" / "note.txt", "mine"));
  const CertificateFacts old = facts_of(pki / "a" / "cert.pem");
  const std::string old_key = read_file(pki / "a" / "key.pem").value();
  const auto renewed = renew_certificate(pki, "a");
  ASSERT_TRUE(renewed) << renewed.error().text();
  EXPECT_EQ(renewed->serial, old.serial);
  const CertificateFacts now = facts_of(pki / "a" / "cert.pem");
  EXPECT_NE(now.serial, old.serial);
  EXPECT_EQ(now.names, old.names);
  EXPECT_GT(now.expires, old.expires);
  EXPECT_NE(read_file(pki / "a" / "key.pem").value(), old_key);
  EXPECT_EQ(mode_of(pki / "a" / "key.pem"), 0600U);
  EXPECT_EQ(read_file(pki / "a" / "note.txt").value(), "mine");
  EXPECT_TRUE(read_tls_folder(pki / "a"));

  ASSERT_TRUE(renew_certificate(pki, "server"));
  EXPECT_EQ(facts_of(pki / "server" / "cert.pem").names,
            (std::vector<std::string>{"fl.example.org", "192.0.2.7"}));
  EXPECT_EQ(renew_certificate(pki, "b").error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(renew_certificate(pki, "../a").error().code, ErrorCode::kBadConfig);

  const auto all = list_certificates(pki).value();
  std::vector<std::string> names;
  for (const auto& one : all) names.push_back(one.facts.name + (one.current ? "" : " (old)"));
  EXPECT_EQ(names, (std::vector<std::string>{"mfl authority", "fl.example.org", "fl.example.org (old)", "a",
                                             "a (old)"}));
  EXPECT_EQ(all.back().facts.serial, old.serial);
}

TEST(Certs, RevocationWritesTheListThatAServerTakes) {
  const auto folder = TempFolder::make().value();
  const fs::path pki = folder.path() / "pki";
  ASSERT_TRUE(make_authority(pki));
  ASSERT_TRUE(make_server_certificate(pki, {"127.0.0.1"}));
  for (const char* name : {"a", "b"}) ASSERT_TRUE(make_node_certificate(pki, name));
  const std::string first = renew_certificate(pki, "a").value().serial;
  const std::string second = facts_of(pki / "a" / "cert.pem").serial;
  Admission admission({{}, pki / kRevokedCertificates});

  ASSERT_EQ(revoke_certificates(pki, first).value().size(), 1U);
  ASSERT_TRUE(admission.check());
  EXPECT_NE(admission.refusal("a", first), "");
  EXPECT_EQ(admission.refusal("a", second), "") << "the renewed certificate is not meant";
  EXPECT_TRUE(revoke_certificates(pki, "serial=" + first).value().empty()) << "it is on the list already";

  ASSERT_EQ(revoke_certificates(pki, "a").value().size(), 1U);
  ASSERT_TRUE(admission.check());
  EXPECT_NE(admission.refusal("a", second), "");
  EXPECT_EQ(admission.refusal("b", facts_of(pki / "b" / "cert.pem").serial), "");
  const auto all = list_certificates(pki).value();
  for (const auto& one : all) EXPECT_EQ(one.revoked, one.facts.name == "a") << one.facts.name;
  for (const char* bad : {"server", "nobody", "00ff"})
    EXPECT_EQ(revoke_certificates(pki, bad).error().code, ErrorCode::kBadConfig) << bad;
  EXPECT_EQ(list_certificates(folder.path()).error().code, ErrorCode::kBadConfig);
}

TEST(Certs, AKeyThatOthersMayReadIsNotUsed) {
  const auto folder = TempFolder::make().value();
  ASSERT_TRUE(make_authority(folder.path() / "pki"));
  ASSERT_TRUE(make_node_certificate(folder.path() / "pki", "a"));
  const fs::path node = folder.path() / "pki" / "a";
  ASSERT_EQ(::chmod((node / "key.pem").c_str(), 0644), 0);
  const auto files = read_tls_folder(node);
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().hint, ::testing::HasSubstr("chmod 600"));
  EXPECT_FALSE(read_tls_folder(folder.path() / "nowhere"));
}

}  // namespace
}  // namespace mfl
