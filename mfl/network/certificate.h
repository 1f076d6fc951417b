// What a certificate says, without judging it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct CertificateFacts {
  enum class Role { kAuthority, kServer, kNode, kOther };
  std::string name;                // common name
  std::vector<std::string> names;  // host names and addresses that it is for
  std::string serial;              // lower-case hex
  Role role = Role::kOther;        // by its extensions
  std::chrono::sys_seconds expires;
};

// Of the first certificate in a PEM text; kBadData when there is none.
Result<CertificateFacts> read_certificate(std::string_view pem);

// "authority", "server", "node" or "other".
std::string_view role_name(CertificateFacts::Role role);

}  // namespace mfl
