#include "mfl/base/version.h"

namespace mfl {

std::string_view version() { return MFL_VERSION; }

}  // namespace mfl
