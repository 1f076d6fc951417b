#include "mfl/network/certs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "mfl/base/files.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777U;
}

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
  EXPECT_GE(certificate_serial(files->certificate).size(), 24U);
  EXPECT_NE(certificate_serial(files->certificate),
            certificate_serial(read_file(pki / "server" / "cert.pem").value()));
  EXPECT_EQ(certificate_serial("nonsense"), "");
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
