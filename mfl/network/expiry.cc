#include "mfl/network/expiry.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace mfl {

int days_left(std::chrono::sys_seconds expires) {
  return static_cast<int>(
      std::chrono::floor<std::chrono::days>(expires - std::chrono::system_clock::now()).count());
}

std::string date_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string expiry_text(std::chrono::sys_seconds expires) {
  const int days = days_left(expires);
  if (days < 0) return fmt::format("expired on {}", date_text(expires));
  return fmt::format("expires in {} day{} ({})", days, days == 1 ? "" : "s", date_text(expires));
}

}  // namespace mfl
