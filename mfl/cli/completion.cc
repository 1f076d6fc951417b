#include "mfl/cli/completion.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "mfl/cli/commands.h"

namespace mfl::cli {
namespace {

void for_each_command(const Command& command, const std::function<void(const Command&)>& visit) {
  visit(command);
  for (const auto& sub : command.subcommands()) for_each_command(*sub, visit);
}

bool is_file(const Option& option) {
  const std::string& what = option.is_positional() ? option.name() : option.type_name();
  for (const std::string_view word : {"FILE", "DIR", "PATH", "PKI", "STORE"})
    if (what.starts_with(word) || what.ends_with(fmt::format("|{}", word))) return true;
  return false;
}

// In single quotes, as bash, zsh and fish read them alike when the text has none of its own and no backslash.
std::string quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? ' ' : c;
  return out + '\'';
}

std::string words_of(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// "'mfl run' | 'mfl sweep'"
std::string pattern(const std::vector<std::string>& cases) {
  std::string out;
  for (const std::string& one : cases) out += (out.empty() ? "" : " | ") + quote(one);
  return out;
}

// What bash and zsh look up by "mfl run --eta" or "mfl run".
struct Cases {
  std::vector<std::string> commands;                         // every path below mfl
  std::map<std::string, std::vector<std::string>> choices;   // words -> the options that take one of them
  std::vector<std::string> files, others;                    // options with a file or any other value
  std::map<std::string, std::vector<std::string>> operands;  // subcommands and positional words -> commands
  std::vector<std::string> file_operands;                    // commands with a file as a positional
};

Cases cases_of(const Command& root) {
  Cases cases;
  for_each_command(root, [&](const Command& command) {
    const std::string path = command.path();
    if (command.parent() != nullptr) cases.commands.push_back(path);
    std::vector<std::string> operands;
    for (const auto& sub : command.subcommands()) operands.push_back(sub->name());
    for (const auto& option : command.options()) {
      const std::string name = path + ' ' + option->name();
      if (option->is_positional()) {
        operands.insert(operands.end(), option->choices().begin(), option->choices().end());
        if (is_file(*option)) cases.file_operands.push_back(path);
      } else if (!option->choices().empty()) {
        cases.choices[words_of(option->choices())].push_back(name);
      } else if (option->arity() != Option::Arity::kFlag) {
        (is_file(*option) ? cases.files : cases.others).push_back(name);
      }
    }
    if (!operands.empty()) cases.operands[words_of(operands)].push_back(path);
  });
  return cases;
}

std::string case_lines(const std::map<std::string, std::vector<std::string>>& choices,
                       std::string_view form) {
  std::string out;
  for (const auto& [words, cases] : choices)
    out += fmt::format("    {}) {} ;;\n", pattern(cases), fmt::format(fmt::runtime(form), words));
  return out;
}

std::string case_line(const std::vector<std::string>& cases, std::string_view action) {
  return cases.empty() ? "" : fmt::format("    {}) {} ;;\n", pattern(cases), action);
}

}  // namespace

std::string bash_completion(const Command& root) {
  const Cases cases = cases_of(root);
  std::string flags;
  for_each_command(root, [&](const Command& command) {
    std::vector<std::string> names = {"--help"};
    for (const auto& option : command.options())
      if (!option->is_positional()) names.push_back(option->name());
    flags += fmt::format("      {}) words={} ;;\n", quote(command.path()), quote(words_of(names)));
  });
  std::string out = R"(# bash completion for mfl: source <(mfl completion bash)
_mfl() {
  local cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) separator= where=mfl words= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$where ${COMP_WORDS[i]}" in
      )" + pattern(cases.commands) +
                    R"() where+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  # bash splits words at "=" and ":".
  if [[ $cur == [=:] ]]; then
    separator=$cur cur=
  elif [[ ${COMP_WORDS[at]} == [=:] ]]; then
    separator=${COMP_WORDS[at]}
    ((at--))
  fi
  if [[ $separator == : ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    return
  fi
  case "$where ${COMP_WORDS[at]}" in
)";
  out += case_lines(cases.choices, "words='{}'");
  out += case_line(cases.files,
                   "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return");
  out += case_line(cases.others, "return");
  out += R"(  esac
  if [[ -z $words && $cur == -* ]]; then
    case $where in
)" + flags +
         R"(    esac
  elif [[ -z $words ]]; then
    case $where in
)";
  for (const auto& [words, paths] : cases.operands)
    out += fmt::format("      {}) words={} ;;\n", pattern(paths), quote(words));
  out += R"(    esac
    case $where in
  )" +
         case_line(cases.file_operands,
                   "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")") +
         R"(    esac
  fi
  local -a more
  mapfile -t more < <(compgen -W "$words" -- "$cur")
  COMPREPLY+=("${more[@]}")
  [[ ${more-} == *: ]] && compopt -o nospace
  return 0
}
complete -F _mfl mfl
)";
  return out;
}

std::string zsh_completion(const Command& root) {
  const Cases cases = cases_of(root);
  std::string flags;
  for_each_command(root, [&](const Command& command) {
    std::string list = " '--help:Print this help and exit'";
    for (const auto& option : command.options())
      if (!option->is_positional()) list += ' ' + quote(option->name() + ':' + option->help());
    flags += fmt::format("      {}) list=({}) ;;\n", quote(command.path()), list);
  });
  std::string operands;
  for_each_command(root, [&](const Command& command) {
    std::string list;
    for (const auto& sub : command.subcommands()) list += ' ' + quote(sub->name() + ':' + sub->help());
    if (!list.empty()) operands += fmt::format("      {}) list=({}) ;;\n", quote(command.path()), list);
  });
  std::string out = R"(#compdef mfl
# zsh completion for mfl: put it into a folder of $fpath as _mfl
_mfl() {
  setopt local_options extended_glob
  local where=mfl option i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    case "$where ${words[i]}" in
      )" + pattern(cases.commands) +
                    R"() where+=" ${words[i]}" ;;
    esac
  done
  option=${words[CURRENT-1]}
  if [[ $PREFIX == --*=* ]]; then
    option=${PREFIX%%=*}
    compset -P '*='
  fi
  if [[ $PREFIX == [a-z]##:* ]]; then
    compset -P '*:'
    _files
    return
  fi
  case "$where $option" in
)";
  out += case_lines(cases.choices, "_mfl_words {}; return");
  out += case_line(cases.files, "_files; return");
  out += case_line(cases.others, "return");
  out += R"(  esac
  if [[ $PREFIX == -* ]]; then
    case $where in
)" + flags +
         R"(    esac
    _describe -o flag list
    return
  fi
  case $where in
)" + operands +
         R"(  esac
  (( $#list )) && _describe command list
  case $where in
)";
  for_each_command(root, [&](const Command& command) {
    for (const auto& option : command.options())
      if (option->is_positional() && !option->choices().empty())
        out += fmt::format("    {}) _mfl_words {} ;;\n", quote(command.path()), words_of(option->choices()));
  });
  out += case_line(cases.file_operands, "_files");
  out += R"(  esac
}
# Words that end in ":" are followed by a file name.
_mfl_words() {
  compadd -- ${@:#*:}
  compadd -S '' -- ${(M)@:#*:}
}
if [[ $funcstack[1] == _mfl ]]; then _mfl "$@"; else compdef _mfl mfl; fi
)";
  return out;
}

std::string fish_completion(const Command& root) {
  std::string cases;
  for_each_command(root, [&](const Command& command) {
    if (command.parent() != nullptr) cases += ' ' + quote(command.path());
  });
  std::string out =
      "# fish completion for mfl: mfl completion fish | source\n"
      "function __mfl_at\n"
      "    set -l where mfl\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        switch \"$where $word\"\n"
      "            case" +
      cases +
      "\n"
      "                set where \"$where $word\"\n"
      "        end\n"
      "    end\n"
      "    test \"$where\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c mfl -f\n";
  for_each_command(root, [&](const Command& command) {
    const std::string at = fmt::format("complete -c mfl -n '__mfl_at \"{}\"'", command.path());
    for (const auto& sub : command.subcommands())
      out += fmt::format("{} -a {} -d {}\n", at, sub->name(), quote(sub->help()));
    out += fmt::format("{} -l help -d 'Print this help and exit'\n", at);
    for (const auto& option : command.options()) {
      if (option->is_positional()) {
        if (!option->choices().empty())
          out += fmt::format("{} -a {}\n", at, quote(words_of(option->choices())));
        if (is_file(*option)) out += fmt::format("{} -F\n", at);
        continue;
      }
      std::string value;
      if (!option->choices().empty())
        value = " -x -a " + quote(words_of(option->choices()));
      else if (option->arity() != Option::Arity::kFlag)
        value = is_file(*option) ? " -r -F" : " -x";
      out += fmt::format("{} -l {}{} -d {}\n", at, option->name().substr(2), value, quote(option->help()));
    }
  });
  return out;
}

void setup_completion(Command& mfl, Commands& commands) {
  const auto shell = std::make_shared<std::string>();
  Command& command = commands.add(mfl, "completion", "Print a completion script for a shell",
                                  "  mfl completion bash > ~/.local/share/bash-completion/completions/mfl\n"
                                  "  mfl completion zsh > ~/.zfunc/_mfl\n"
                                  "  mfl completion fish > ~/.config/fish/completions/mfl.fish",
                                  [shell, &mfl]() -> Result<Reply> {
                                    std::string script;
                                    if (*shell == "bash")
                                      script = bash_completion(mfl);
                                    else if (*shell == "zsh")
                                      script = zsh_completion(mfl);
                                    else if (*shell == "fish")
                                      script = fish_completion(mfl);
                                    else
                                      return fail(ErrorCode::kBadConfig,
                                                  fmt::format("SHELL {}: must be bash, zsh or fish", *shell));
                                    return Reply{{{"shell", *shell}, {"script", script}}, script, {}};
                                  });
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->choices({"bash", "zsh", "fish"});
}

}  // namespace mfl::cli
