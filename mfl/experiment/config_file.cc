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
#include "mfl/experiment/sweep.h"

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
    case KeyKind::kTextOrNumber: return "a string or a number";
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
  if (const auto* real = node.as_floating_point();
      real != nullptr && (key.kind == KeyKind::kNumber || key.kind == KeyKind::kTextOrNumber))
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

// Walks the whole file and keeps the error of the earliest line. Arrays become axes where they are allowed.
class Reader {
 public:
  Reader(std::string_view file, bool arrays) : file_(file), arrays_(arrays) {}

  Result<Sweep> read(const toml::table& root) {
    for (const auto& [name, node] : root) read_table(name, node);
    if (error_) return tl::unexpected<Error>(*error_);
    return Sweep{std::move(config_), std::move(axes_)};
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
    const toml::array* array = arrays_ ? node.as_array() : nullptr;
    if (array == nullptr) {
      set_value(config_, **key, name, node);
      return;
    }
    if (array->empty()) note(name.source(), fmt::format("{} in [{}]: the array is empty", name.str(), table));
    SweepAxis axis{*key, {}};
    for (const toml::node& element : *array) {
      Config ignored;
      if (auto text = set_value(ignored, **key, name, element)) axis.values.push_back(*std::move(text));
    }
    axes_.push_back(std::move(axis));
  }

  // The value as text, once it is in the config; nothing after an error.
  std::optional<std::string> set_value(Config& config, const Key& key, const toml::key& name,
                                       const toml::node& node) {
    const std::string where = fmt::format("{} = {} in [{}]", name.str(), shown(node), key.table);
    auto text = flag_text(key, node);
    if (!text) {
      const std::string found =
          node.is_string() && !key.word.empty() ? "" : fmt::format(", not {}", type_name(node));
      const std::string hint = node.is_array() && !arrays_ ? "; arrays are for mfl sweep" : "";
      note(name.source(), fmt::format("{}: must be {}{}{}", where, expected_type(key), found, hint));
    } else if (const auto set = key.set(config, *text); !set) {
      note(name.source(), fmt::format("{}: {}", where, set.error().message));
      return std::nullopt;
    }
    return text;
  }

  void note(const toml::source_region& source, std::string_view message) {
    if (error_ && line_ <= source.begin.line) return;
    line_ = source.begin.line;
    error_ = Error{ErrorCode::kBadConfig, fmt::format("{}:{}: {}", file_, line_, message), {}, nullptr};
  }

  std::string_view file_;
  bool arrays_;
  Config config_;
  std::vector<SweepAxis> axes_;
  std::uint32_t line_ = 0;
  std::optional<Error> error_;
};

Result<Sweep> parse(std::string_view text, std::string_view file, bool arrays) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
  return Reader(file, arrays).read(parsed.table());
}

Result<std::string> experiment_text(const std::filesystem::path& path) {
  auto text = read_file(path);
  if (!text) return fail(ErrorCode::kBadConfig, text.error().message, "give the path of an experiment file");
  return *std::move(text);
}

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view file) {
  MFL_TRY(Sweep read, parse(text, file, false));
  if (const auto valid = validate(read.base); !valid)
    return fail(valid.error().code, fmt::format("{}: {}", file, valid.error().message), valid.error().hint);
  return std::move(read.base);
}

Result<Config> read_config(const std::filesystem::path& path) {
  MFL_TRY(const std::string text, experiment_text(path));
  return parse_config(text, path.string());
}

Result<Sweep> parse_sweep(std::string_view text, std::string_view file) { return parse(text, file, true); }

Result<Sweep> read_sweep(const std::filesystem::path& path) {
  MFL_TRY(const std::string text, experiment_text(path));
  return parse_sweep(text, path.string());
}

}  // namespace mfl
