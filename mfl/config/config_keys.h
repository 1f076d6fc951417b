// The one table of keys behind Config.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/catalog.h"
#include "mfl/base/result.h"
#include "mfl/config/config.h"

namespace mfl {

// What a TOML value of a key may be.
enum class KeyKind {
  kText,            // a string
  kBoolean,         // true or false, or the key's word
  kInteger,         // an integer, or the key's word
  kNumber,          // an integer or a floating-point number, or the key's word
  kTextOrInteger,   // a string or an integer
  kTextOrNumber,    // a string, an integer or a floating-point number
  kTexts,           // an array of strings; numbers count as their text
  kTextsOrInteger,  // an array of strings, or an integer
};

// Whether a key is part of config_digest.
enum class Digested {
  kNever,
  kAlways,
  kUnlessDefault,  // shapes the trajectory too, but came later: configurations without it keep their digest
};

struct Key {
  std::string_view table;        // "algorithm"
  std::string_view key;          // "gamma"
  std::string_view flag;         // "--gamma"
  std::string_view placeholder;  // "X", for the help
  std::string_view help;         // one line, with what is allowed
  KeyKind kind;
  std::string_view word;  // the word that a number key also takes: "all", "auto" or none
  Digested digested;

  // From text without quotes. The error is the reason alone ("must be in [0, 1)"): the caller knows where.
  Result<void> (*set)(Config&, std::string_view text);
  // As a TOML value.
  std::string (*get)(const Config&);
  // The words that a text key may be, if there are only some; one that ends in ":" is followed by a path.
  std::span<const std::string_view> choices = {};
  // The table that the words are from, for a key that names an entry of one; null otherwise.
  const CatalogIndex* (*catalog)() = nullptr;
};

// `help` with the names of the table, and the words that a flag may be completed to.
std::string help_text(const Key& key);
std::vector<std::string> choice_texts(const Key& key);

// Whether a TOML array is one value of the key, and not several.
constexpr bool is_list(const Key& key) {
  return key.kind == KeyKind::kTexts || key.kind == KeyKind::kTextsOrInteger;
}

// In canonical order, keys of a table together.
std::span<const Key> config_keys();

// What `config` has, as --help shows it: without quotes; empty for an empty string.
std::string default_text(const Key& key, const Config& config = {});

// The key "table.key"; the error names the nearest one.
Result<const Key*> find_key(std::string_view table, std::string_view key);

}  // namespace mfl
