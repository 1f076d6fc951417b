// The text of an allow list or a revocation list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mfl {

// A line that is not used, or not all of it.
struct ListWarning {
  std::string file;
  std::size_t line = 0;  // from 1; 0: the whole file
  std::string text;      // what was found, shortened and escaped, and what is expected
};

// One entry per line: the name of a node, or the serial number of a certificate; '#' starts a comment. Names are compared without
// regard to case. A serial number is hexadecimal, as tools print it: `40ab12`, `40:AB:12`, `40 AB 12`, `0x40AB12`, `serial=40AB12`,
// `Serial Number: 40:ab:12`; leading zeros do not count. The text is UTF-8 or, after a byte order mark, UTF-16; lines may end in CRLF.
struct AdmissionList {
  enum class Kind {
    // NAME or NAME max_samples=N. A serial number needs one of the forms that no name has (serial=, 0x, colons). A line with
    // anything else is not used at all.
    kAllowed,
    // A word that may be a name and a serial number is both. Several entries may share a line, separated by blanks or commas; what
    // is neither is left out.
    kRevoked,
  };

  std::set<std::string> names;                       // lower case
  std::set<std::string> serials;                     // as normal_serial() gives them
  std::map<std::string, std::uint64_t> max_samples;  // of names; the least where a name has several
  std::vector<ListWarning> warnings;                 // without the file; the first 20 and how many more

  bool has(std::string_view name, std::string_view serial) const;
};

AdmissionList parse_admission_list(std::string_view text, AdmissionList::Kind kind);

// Lower-case hexadecimal digits without leading zeros; empty where the text is no serial number in one of the forms above.
std::string normal_serial(std::string_view text);

std::string lower_case(std::string_view text);

}  // namespace mfl
