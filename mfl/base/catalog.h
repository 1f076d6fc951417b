// Tables of things that are chosen by name: models, partitions, aggregators. One entry says what it is
// called, which parameters it takes and what it is, so that flags, files, help, errors and tests read the
// table instead of repeating its names.
//
// A choice is written as a spec: "median", "trimmed-mean(0.2)", "multi-krum(f=2, m=4)", "file:PATH". Example:
// end of file.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/number_range.h"
#include "mfl/base/result.h"

namespace mfl {

// A number that an entry takes.
struct Parameter {
  std::string name;
  std::string help;  // a few words
  NumberRange range;
  std::optional<double> default_value = std::nullopt;
  bool optional = false;  // may be absent although it has no default: the entry decides what that means
  bool whole = false;     // a whole number, from -2^53 to 2^53
  bool may_be_infinite = false;  // "inf" is a value if the range holds it
};

// What every table says about an entry. Names, aliases and parameters consist of letters, digits, '-', '_'
// and '.'.
struct CatalogEntry {
  std::string name;
  std::vector<std::string> aliases = {};
  std::vector<Parameter> parameters = {};  // in the order of values without a name
  std::string description = {};            // one line
  // For an entry that takes a text in place of parameters: what the text is, in capitals ("PATH"). Written as
  // NAME:TEXT.
  std::string text = {};
  bool text_optional = false;  // NAME alone is a choice as well
};

// "multi-krum(f, [m])", "geometric-median(iterations=4, nu=1e-05)", "file:PATH", "fleet[:SHAPE]": defaults
// follow "=", brackets are around what may be absent.
std::string usage_text(const CatalogEntry& entry);

// How a spec of an entry begins: its name, with ':' where a text must follow.
std::string choice_text(const CatalogEntry& entry);

class ParameterValues;

// The shortest spec of these values: without parameters at their defaults, and without the one named.
std::string brief_text(const CatalogEntry& entry, const ParameterValues& values,
                       std::string_view without = {});

// What an entry accepts for a parameter: "a whole number in [1, 1000]".
std::string range_text(const Parameter& parameter);

// The values of an entry's parameters, by name, or its text.
class ParameterValues {
 public:
  // Nothing for an optional parameter that is absent, and for a name that the entry does not have.
  std::optional<double> find(std::string_view parameter) const;
  // Throws std::out_of_range where find gives nothing.
  double number(std::string_view parameter) const;
  // A whole number >= 0; throws as number() does.
  std::uint64_t count(std::string_view parameter) const;

  // What follows NAME: for an entry that takes a text, never empty unless it is optional and absent; empty
  // for the others.
  const std::string& text() const { return text_; }

  void set(std::string_view parameter, double value);
  void set_text(std::string_view text) { text_ = text; }

 private:
  std::vector<std::pair<std::string, double>> values_;
  std::string text_;
};

// The part of a catalogue that does not depend on the type of its entries.
class CatalogIndex {
 public:
  explicit CatalogIndex(std::string kind) : kind_(std::move(kind)) {}

  const std::string& kind() const { return kind_; }
  std::span<const CatalogEntry* const> entries() const { return entries_; }
  // The entry outlives the index. Throws as Catalog::add does.
  void add(const CatalogEntry& entry);
  void check(const CatalogEntry& entry) const;
  const CatalogEntry* find(std::string_view name) const;
  Result<const CatalogEntry*> get(std::string_view name) const;

  struct Parsed {
    const CatalogEntry* entry;
    ParameterValues values;
    std::string text;
  };
  Result<Parsed> parse(std::string_view text) const;

 private:
  std::string kind_;
  std::vector<const CatalogEntry*> entries_;
};

// The entries of one kind, built-in ones first, in the order in which they were added. Pointers to entries
// stay valid as long as the catalogue. Not thread-safe while entries are added: add them before the first
// use, for example at the start of main.
template <std::derived_from<CatalogEntry> Entry>
class Catalog {
 public:
  // `kind` names an entry in messages: "aggregator".
  Catalog(std::string kind, std::vector<Entry> entries) : index_(std::move(kind)) {
    for (Entry& entry : entries) add(std::move(entry));
  }
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Throws std::invalid_argument, and adds nothing, if the name or an alias exists already, a name is empty
  // or has other characters than those of CatalogEntry, a parameter is duplicated, a default is outside its
  // range, or there are parameters beside a text.
  void add(Entry entry) {
    index_.check(entry);
    entries_.push_back(std::move(entry));
    index_.add(entries_.back());
  }

  const std::string& kind() const { return index_.kind(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  // By name or alias; null if unknown.
  const Entry* find(std::string_view name) const { return static_cast<const Entry*>(index_.find(name)); }
  // kBadConfig if unknown: unknown aggregator "medain"; did you mean "median"?
  Result<const Entry*> get(std::string_view name) const {
    MFL_TRY(const CatalogEntry* entry, index_.get(name));
    return static_cast<const Entry*>(entry);
  }

  const CatalogIndex& index() const { return index_; }

 private:
  std::deque<Entry> entries_;
  CatalogIndex index_;
};

// A choice from a catalogue, which outlives it.
template <class Entry>
struct Spec {
  const Entry* entry;
  ParameterValues values;  // a value for every parameter except absent optional ones
  std::string text;        // canonical: "multi-krum(f=2, m=4)"
};

// Parses NAME, NAME(VALUE, ...), NAME(PARAMETER=VALUE, ...) or values without a name followed by values with
// one; blanks are allowed everywhere except inside words. The canonical text has the entry's name, not an
// alias, then every parameter that has a value, in the order of the entry, as the shortest number that reads
// back to the same bits (-0 is 0): equal choices have equal texts, and parsing the text gives the same
// choice. NAME:TEXT of an entry that takes a text keeps every character of the text.
//
// kBadConfig for unknown names, unknown, repeated or missing parameters, a missing text, and values that are
// no numbers, outside their range, not whole where they must be, or not finite. The hint says what may be
// written.
template <class Entry>
Result<Spec<Entry>> parse_spec(std::string_view text, const Catalog<Entry>& catalog) {
  MFL_TRY(CatalogIndex::Parsed parsed, catalog.index().parse(text));
  return Spec<Entry>{static_cast<const Entry*>(parsed.entry), std::move(parsed.values),
                     std::move(parsed.text)};
}

}  // namespace mfl

// Example: a table of two shapes.
//
//   struct Shape : CatalogEntry { double (*area)(const ParameterValues&); };
//   constexpr NumberRange kPositive{[](double x) { return x > 0; }, "> 0"};
//   Catalog<Shape> shapes("shape", {
//       {{.name = "square", .parameters = {{.name = "side", .help = "length", .range = kPositive}}},
//        [](const ParameterValues& v) { return v.number("side") * v.number("side"); }},
//       {{.name = "unit"}, [](const ParameterValues&) { return 1.0; }}});
//   MFL_TRY(const auto spec, parse_spec("square(side = 2)", shapes));   // spec.text is "square(side=2)"
//   const double area = spec.entry->area(spec.values);                  // 4
