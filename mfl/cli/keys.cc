#include <fmt/format.h>

#include <memory>

#include "mfl/base/nearest.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/text.h"
#include "mfl/config/config_keys.h"

namespace mfl::cli {
namespace {

std::string_view kind_name(KeyKind kind) {
  switch (kind) {
    case KeyKind::kText: return "text";
    case KeyKind::kBoolean: return "boolean";
    case KeyKind::kInteger: return "integer";
    case KeyKind::kNumber: return "number";
    case KeyKind::kTextOrInteger: return "text or integer";
    case KeyKind::kTextOrNumber: return "text or number";
    case KeyKind::kTexts: return "texts";
    case KeyKind::kTextsOrInteger: return "texts or integer";
  }
  return {};
}

Json entry_json(const CatalogEntry& entry) {
  Json parameters = Json::array();
  for (const Parameter& parameter : entry.parameters)
    parameters.push_back(
        {{"name", parameter.name}, {"help", parameter.help}, {"range", range_text(parameter)}});
  return {{"usage", usage_text(entry)},
          {"aliases", entry.aliases},
          {"description", entry.description},
          {"parameters", parameters}};
}

Json key_json(const Key& key) {
  Json out = {{"table", key.table},
              {"key", key.key},
              {"flag", key.flag},
              {"value", key.placeholder},
              {"help", key.help},
              {"type", kind_name(key.kind)},
              {"word", key.word},
              {"default", key.get(Config{})},
              {"choices", Json::list(key.choices)},
              {"in_digest", key.digested != Digested::kNever}};
  if (key.catalog == nullptr) return out;
  out["kind"] = key.catalog()->kind();
  out["entries"] = Json::array();
  for (const CatalogEntry* entry : key.catalog()->entries()) out["entries"].push_back(entry_json(*entry));
  return out;
}

// Lines of a TOML comment.
std::string comment(std::string_view text, std::size_t indent) {
  std::string out = "# " + std::string(indent, ' ') + folded(text, 78 - indent, indent + 2);
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos;) out[++at] = '#';
  return out + '\n';
}

std::string entries_text(const CatalogIndex& index) {
  std::string out;
  for (const CatalogEntry* entry : index.entries()) {
    out += comment(fmt::format("{}: {}", usage_text(*entry), entry->description), 2);
    for (const Parameter& parameter : entry->parameters)
      out += comment(fmt::format("{}: {}, {}", parameter.name, parameter.help, range_text(parameter)), 4);
  }
  return out;
}

Result<Reply> keys_command(const std::string& word) {
  Reply reply{{{"keys", Json::array()}}, {}, {}};
  std::vector<std::string_view> names;
  std::string_view table;
  for (const Key& key : config_keys()) {
    names.push_back(key.key);
    const bool named = word == key.key || word == fmt::format("{}.{}", key.table, key.key);
    if (!word.empty() && !named && word != key.table) continue;
    if (table != key.table) reply.text += fmt::format("{}[{}]\n", table.empty() ? "" : "\n", key.table);
    table = key.table;
    reply.text += comment(key.help, 0);
    if (named && key.catalog != nullptr) reply.text += entries_text(*key.catalog());
    reply.text += fmt::format("{} = {}\n", key.key, key.get(Config{}));
    reply.data["keys"].push_back(key_json(key));
  }
  if (!reply.text.empty()) return reply;
  return fail(ErrorCode::kBadConfig, fmt::format("unknown key \"{}\"{}", word, did_you_mean(word, names)),
              "mfl keys lists all keys");
}

}  // namespace

void setup_keys(Command& mfl, Commands& commands) {
  const auto word = std::make_shared<std::string>();
  Command& command =
      commands.add(mfl, "keys", "Print the keys of an experiment file with their defaults",
                   "  mfl keys\n  mfl keys federation.partition", [word] { return keys_command(*word); });
  command.add_option("KEY", *word, "A key or a table of keys, such as gamma, algorithm.gamma or algorithm");
}

}  // namespace mfl::cli
