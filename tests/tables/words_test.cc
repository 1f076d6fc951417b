// An entry of a table is a choice wherever choices are read or shown: one that this program adds needs no other edit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "mfl/base/files.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/parse.h"
#include "mfl/config/sweep_grid.h"
#include "tests/tables/documented.h"
#include "tests/tables/toys.h"

namespace mfl {
namespace {

using test::documented_rows;
using test::key_of;
using test::table_row;
using test::tables;
using test::toy_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What the program prints for a command line.
std::string printed(const std::vector<std::string>& words) {
  cli::Command mfl("mfl", "");
  cli::Commands commands;
  cli::setup_all(mfl, commands);
  const auto parsed = cli::parse(mfl, words);
  EXPECT_TRUE(parsed) << parsed.error().text();
  const auto reply = commands.actions.at(parsed->command)();
  EXPECT_TRUE(reply) << reply.error().text();
  return reply->text;
}

std::string toml_of(const test::Table& table, std::string_view spec) {
  const Key& key = key_of(table);
  std::string toml = fmt::format("[{}]\n{} = \"{}\"\n", key.table, key.key, spec);
  if (table.algorithm != Config{}.algorithm.name) toml += fmt::format("name = \"{}\"\n", table.algorithm);
  return toml;
}

TEST(Tables, EveryKeyThatNamesAnEntryIsTestedHere) {
  std::set<std::string> with_table, tested = {"data.test_source"};  // the table of data.source
  for (const Key& key : config_keys())
    if (key.catalog != nullptr) with_table.insert(fmt::format("{}.{}", key.table, key.key));
  for (const auto& table : tables()) tested.insert(table.key);
  EXPECT_EQ(tested, with_table) << "add the table to tests/tables/toys.cc";
}

TEST(Tables, EveryEntryIsAChoiceOfItsFlag) {
  for (const auto& table : tables()) {
    const Key& key = key_of(table);
    ASSERT_EQ(key.catalog(), table.index);
    for (const CatalogEntry* entry : table.index->entries()) {
      EXPECT_THAT(help_text(key), HasSubstr(usage_text(*entry)));
      EXPECT_THAT(choice_texts(key), Contains(choice_text(*entry)));
      EXPECT_FALSE(entry->description.empty()) << entry->name;
    }
  }
}

TEST(Tables, HelpManualAndCompletionShowTheToys) {
  const auto& with_toys = tables();
  const std::string help = printed({"help", "run"}), split = printed({"help", "data", "split"});
  const std::string manual = printed({"man", "run"});
  for (const auto& table : with_toys) {
    EXPECT_THAT(help, HasSubstr(usage_text(toy_of(table))));
    std::string roff = usage_text(toy_of(table));
    for (std::size_t i = 0; (i = roff.find('-', i)) != std::string::npos; i += 2) roff.insert(i, "\\");
    EXPECT_THAT(manual, HasSubstr(roff));
    for (const char* shell : {"bash", "zsh", "fish"})
      EXPECT_THAT(printed({"completion", shell}), HasSubstr(toy_of(table).name)) << shell;
  }
  EXPECT_THAT(split, HasSubstr("toy-partition"));
}

TEST(Tables, FilesFlagsAndSweepsTakeTheToys) {
  for (const auto& table : tables()) {
    const CatalogEntry& toy = toy_of(table);
    Config config = test::base_of(table);
    ASSERT_TRUE(set_key(config, table.key, toy.name));
    EXPECT_TRUE(validate(config));
    const auto from_file = parse_config(toml_of(table, toy.aliases.front()), "toys.toml");
    ASSERT_TRUE(from_file) << from_file.error().text();
    EXPECT_EQ(*from_file, config) << "an alias is the entry's name";
    EXPECT_THAT(to_toml(config), HasSubstr(toy.name));
    EXPECT_EQ(parse_config(to_toml(config), "again").value(), config);
    EXPECT_NE(config_digest(config), config_digest({}));

    Sweep sweep;
    ASSERT_TRUE(set_sweep_key(sweep, table.key, fmt::format("[\"{}\", \"{}\"]", table.copied, toy.name), ""));
  }
}

TEST(Tables, ErrorsKnowTheToys) {
  for (const auto& table : tables()) {
    const CatalogEntry& toy = toy_of(table);
    const std::string typo = toy.name.substr(0, toy.name.size() - 1);
    Config config;
    const auto wrong = set_key(config, table.key, typo);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, HasSubstr(fmt::format("did you mean \"{}\"?", toy.name)));
    EXPECT_THAT(wrong.error().hint, HasSubstr(toy.name));
    const auto in_file = parse_config(toml_of(table, typo), "toys.toml");
    ASSERT_FALSE(in_file);
    EXPECT_THAT(in_file.error().message, HasSubstr(fmt::format("toys.toml:2: {}", key_of(table).key)));
    EXPECT_THAT(in_file.error().message, HasSubstr(fmt::format("did you mean \"{}\"?", toy.name)));
    if (toy.parameters.empty()) continue;
    const auto bad_value = set_key(config, table.key, toy.name + "(strength=0)");
    ASSERT_FALSE(bad_value);
    EXPECT_THAT(bad_value.error().message, HasSubstr("\"strength\" must be a number > 0, not \"0\""));
    EXPECT_THAT(bad_value.error().hint, HasSubstr(toy.name + "(strength=3)"));
  }
}

TEST(Tables, TheKeysAsTheyArePrintedAreAnExperimentFile) {
  EXPECT_EQ(parse_config(printed({"keys"}), "keys").value(), Config{});
  EXPECT_THAT(printed({"keys", "gamma"}),
              HasSubstr("[algorithm]\n# momentum of the nodes, in [0, 1)\ngamma = 0.5\n"));
  for (const auto& table : tables())
    EXPECT_THAT(printed({"keys", std::string(table.key)}), HasSubstr(toy_of(table).description)) << table.key;
}

TEST(Tables, TheDocumentationHasARowForEveryEntryButTheToys) {
  const std::string page = *read_file(MFL_CONFIG_PAGE);
  for (const auto& table : tables()) {
    const std::vector<std::string> rows = documented_rows(page, table.index->kind());
    std::vector<std::string> missing, stale = rows;
    for (const CatalogEntry* entry : table.index->entries()) {
      const std::string row = table_row(*entry);
      if (std::erase(stale, row) != 1) missing.push_back(row);
    }
    EXPECT_THAT(missing, ElementsAre(table_row(toy_of(table))))
        << "run scripts/reference.py, which writes docs/config.md";
    EXPECT_THAT(stale, IsEmpty()) << "not an entry of the table: run scripts/reference.py";
  }
}

}  // namespace
}  // namespace mfl
