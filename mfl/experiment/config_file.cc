// Reading of experiment files: the only place that knows toml++.
// Errors as values need the header-only form: Debian's library is built with exceptions.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "mfl/base/files.h"
#include "mfl/base/nearest.h"
#include "mfl/experiment/config.h"
#include "mfl/experiment/config_keys.h"
#include "mfl/experiment/config_values.h"

namespace mfl {
namespace {

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a floating-point number";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or time";
  }
}

std::string expected_type(const Key& key) {
  const std::string word = key.word.empty() ? "" : fmt::format(" or \"{}\"", key.word);
  switch (key.kind) {
    case KeyKind::kText: return "a string";
    case KeyKind::kInteger: return "an integer" + word;
    case KeyKind::kNumber: return "a number" + word;
    case KeyKind::kTextOrInteger: return "a string or an integer";
  }
  return {};
}

// The value as a flag would have it; nothing when the key does not take this type.
std::optional<std::string> flag_text(const Key& key, const toml::node& node) {
  const bool number = key.kind == KeyKind::kInteger || key.kind == KeyKind::kNumber;
  if (const auto* text = node.as_string(); text != nullptr && (!number || text->get() == key.word))
    return number && key.word.empty() ? std::nullopt : std::optional(text->get());
  if (const auto* integer = node.as_integer(); integer != nullptr && key.kind != KeyKind::kText)
    return fmt::format("{}", integer->get());
  if (const auto* real = node.as_floating_point(); real != nullptr && key.kind == KeyKind::kNumber)
    return toml_number(real->get());
  return std::nullopt;
}

std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return toml_text(text->get());
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* real = node.as_floating_point()) return toml_number(real->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
  return node.is_table() ? "{...}" : node.is_array() ? "[...]" : "...";
}

// Walks the whole file and keeps the error of the earliest line.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Config> read(const toml::table& root) {
    for (const auto& [name, node] : root) read_table(name, node);
    if (error_) return tl::unexpected<Error>(*error_);
    if (const auto valid = validate(config_); !valid)
      return fail(valid.error().code, fmt::format("{}: {}", file_, valid.error().message),
                  valid.error().hint);
    return std::move(config_);
  }

 private:
  void read_table(const toml::key& name, const toml::node& node) {
    const auto keys = config_keys();
    if (const auto* table = node.as_table()) {
      if (std::ranges::find(keys, name.str(), &Key::table) == keys.end()) {
        note(name.source(), find_key(name.str(), "").error().message);
        return;
      }
      for (const auto& [key, value] : *table) read_value(name.str(), key, value);
    } else if (std::ranges::find(keys, name.str(), &Key::table) != keys.end()) {
      note(name.source(),
           fmt::format("{} must be a table, [{}], not {}", name.str(), name.str(), type_name(node)));
    } else {
      const auto known = std::ranges::find(keys, name.str(), &Key::key);
      note(name.source(),
           fmt::format("unknown key \"{}\" outside of any table{}", name.str(),
                       known == keys.end() ? "" : fmt::format("; it belongs in [{}]", known->table)));
    }
  }

  void read_value(std::string_view table, const toml::key& name, const toml::node& node) {
    const auto key = find_key(table, name.str());
    if (!key) {
      note(name.source(), key.error().message);
      return;
    }
    const std::string where = fmt::format("{} = {} in [{}]", name.str(), shown(node), table);
    const auto text = flag_text(**key, node);
    if (!text) {
      const std::string found =
          node.is_string() && !(*key)->word.empty() ? "" : fmt::format(", not {}", type_name(node));
      note(name.source(), fmt::format("{}: must be {}{}", where, expected_type(**key), found));
    } else if (const auto set = (*key)->set(config_, *text); !set) {
      note(name.source(), fmt::format("{}: {}", where, set.error().message));
    }
  }

  void note(const toml::source_region& source, std::string_view message) {
    if (error_ && line_ <= source.begin.line) return;
    line_ = source.begin.line;
    error_ = Error{ErrorCode::kBadConfig, fmt::format("{}:{}: {}", file_, line_, message), {}, nullptr};
  }

  std::string_view file_;
  Config config_;
  std::uint32_t line_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view file) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
  return Reader(file).read(parsed.table());
}

Result<Config> read_config(const std::filesystem::path& path) {
  auto text = read_file(path);
  if (!text) return fail(ErrorCode::kBadConfig, text.error().message, "give the path of an experiment file");
  return parse_config(*text, path.string());
}

}  // namespace mfl
