#include "mfl/cli/config_flags.h"

#include <fmt/format.h>

#include "mfl/data/sources.h"
#include "mfl/data/text.h"

namespace mfl::cli {

Option* add_source_option(Command& command, const std::string& name, std::string& spec, bool own_data_only) {
  std::vector<std::string> usages, choices;
  for (const SourceEntry& entry : sources()) {
    if (!entry.open || (own_data_only && !entry.own_data)) continue;
    usages.push_back(usage_text(entry));
    choices.push_back(choice_text(entry));
  }
  return command.add_option(name, spec, fmt::format("{}", fmt::join(usages, ", ")))
      ->required()
      ->choices(std::move(choices));
}

void ConfigFlags::add(Command& command, bool (*wanted)(const Key&), const Config& defaults) {
  for (const Key& key : config_keys()) {
    if (!wanted(key)) continue;
    Option* option = command.add_option(std::string(key.flag), help_text(key));
    option->type_name(std::string(key.placeholder))->group(fmt::format("[{}]", key.table));
    option->default_str(default_text(key, defaults));
    option->choices(choice_texts(key));
    flags_.push_back({&key, option});
  }
}

void ConfigFlags::add_set(Command& command) {
  set_ = command.add_option("--set", "Any key of an experiment file; may be repeated", Option::Arity::kMany);
  set_->type_name("TABLE.KEY=VALUE");
}

Result<void> ConfigFlags::apply(Config& config) const {
  make_room(config, texts());
  return for_each_given(
      [&](const std::string& key, const std::string& text, const std::string& where) -> Result<void> {
        auto set = set_key(config, key, text, where);
        if (!set && set.error().hint.empty() && text.starts_with('['))
          return fail(set.error().code, set.error().message, "arrays are for mfl sweep");
        return set;
      });
}

Result<void> ConfigFlags::apply(Sweep& sweep) const {
  make_room(sweep.base, texts());
  return for_each_given([&](const std::string& key, const std::string& text, const std::string& where) {
    return set_sweep_key(sweep, key, text, where);
  });
}

Result<void> ConfigFlags::for_each_given(const Setter& set) const {
  if (set_ != nullptr) {
    for (const std::string& text : set_->results()) {
      const std::size_t equals = text.find('=');
      const std::string where = "--set " + text;
      if (equals == std::string::npos)
        return fail(ErrorCode::kBadConfig, where + ": has no =", "write --set algorithm.gamma=0.9");
      MFL_CHECK(
          set(std::string(trim(text.substr(0, equals))), std::string(trim(text.substr(equals + 1))), where));
    }
  }
  for (const Flag& flag : flags_) {
    if (flag.option->count() == 0) continue;
    const std::string text = flag.option->results().front();
    MFL_CHECK(set(fmt::format("{}.{}", flag.key->table, flag.key->key), text,
                  fmt::format("{} {}", flag.key->flag, text)));
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> ConfigFlags::texts() const {
  std::vector<std::pair<std::string, std::string>> out;
  (void)for_each_given(
      [&](const std::string& key, const std::string& text, const std::string&) -> Result<void> {
        out.emplace_back(key, text);
        return {};
      });
  return out;
}

std::vector<std::string> ConfigFlags::given() const {
  std::vector<std::string> names;
  if (set_ != nullptr && set_->count() > 0) names.emplace_back("--set");
  for (const Flag& flag : flags_)
    if (flag.option->count() > 0) names.emplace_back(flag.key->flag);
  return names;
}

}  // namespace mfl::cli
