// ZIP archives whose members are stored as they are: what numpy.load opens as an NPZ file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct ZipMember {
  std::string name;
  std::string bytes;
};

// The same members give the same bytes. kBadConfig for 2 GiB and more, which other programs may not read.
Result<std::string> make_zip(const std::vector<ZipMember>& members);

// Takes any bytes. Nothing that make_zip() does not write is read: kBadData.
Result<std::vector<ZipMember>> read_zip(std::string_view bytes);

}  // namespace mfl
