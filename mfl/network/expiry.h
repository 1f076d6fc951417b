// How long certificates are still valid, for warnings and tables.
#pragma once

#include <chrono>
#include <string>

namespace mfl {

// A certificate with fewer whole days left is worth a warning.
inline constexpr int kExpiryWarningDays = 30;

// Whole days from now until then, rounded down: negative once it has passed.
int days_left(std::chrono::sys_seconds expires);

// "expires in 12 days (2027-01-31)", "expired on 2026-01-31".
std::string expiry_text(std::chrono::sys_seconds expires);

// "2027-01-31", UTC.
std::string date_text(std::chrono::sys_seconds time);

}  // namespace mfl
