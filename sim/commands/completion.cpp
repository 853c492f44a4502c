// `completion`: scripts for bash, zsh and fish, made from the same declarations as the help. Behind --set
// they offer the fields of a scenario.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "scenarios/fields.h"
#include "sim/commands/command.h"

namespace orrery::sim {
namespace {

std::string long_options(const CLI::App& sub) {
  std::string words;
  for (const CLI::Option* option : sub.get_options())
    for (const std::string& name : option->get_lnames()) words += (words.empty() ? "--" : " --") + name;
  return words;
}

std::string names(const CLI::App& root) {
  std::string words;
  for (const CLI::App* sub : root.get_subcommands({})) words += (words.empty() ? "" : " ") + sub->get_name();
  return words;
}

std::string field_words() {
  std::string words;
  for (const scenarios::Field& field : scenarios::fields())
    words += fmt::format("{}{}=", words.empty() ? "" : " ", field.path);
  return words;
}

std::string cases(const CLI::App& root) {
  std::string text;
  for (const CLI::App* sub : root.get_subcommands({}))
    text += fmt::format("    {}) words='{}' ;;\n", sub->get_name(), long_options(*sub));
  return text;
}

std::string bash_script(const CLI::App& root) {
  return fmt::format(R"(_orrery() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [ "$before" = --set ]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -W '{}' -- "$current"))
    return
  fi
  case $current in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) if [ "${{COMP_WORDS[1]}}" = completion ]; then
         COMPREPLY=($(compgen -W 'bash zsh fish' -- "$current"))
       else
         compopt -o filenames 2>/dev/null
         COMPREPLY=($(compgen -f -- "$current"))
       fi ;;
  esac
}}
complete -F _orrery orrery
)",
                     names(root), cases(root), field_words());
}

std::string zsh_script(const CLI::App& root) {
  return fmt::format(R"(#compdef orrery
_orrery() {{
  local words_of=
  if (( CURRENT == 2 )); then
    compadd -- {} --help --version
    return
  fi
  case $words[2] in
{}  esac
  if [[ $words[CURRENT-1] == --set ]]; then
    compadd -S '' -- {}
  elif [[ $words[2] == completion ]]; then
    compadd -- bash zsh fish
  elif [[ $PREFIX == -* ]]; then
    compadd -- ${{=words_of}}
  else
    _files
  fi
}}
compdef _orrery orrery
)",
                     names(root),
                     [&] {
                       std::string text = cases(root);
                       for (std::size_t at = text.find(") words="); at != std::string::npos;
                            at = text.find(") words=", at + 11))
                         text.replace(at, 8, ") words_of=");
                       return text;
                     }(),
                     field_words());
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_script(const CLI::App& root) {
  std::string text;
  for (const CLI::App* sub : root.get_subcommands({})) {
    text += fmt::format("complete -c orrery -n __fish_use_subcommand -f -a {} -d {}\n", sub->get_name(),
                        in_quotes(sub->get_description()));
    for (const CLI::Option* option : sub->get_options())
      for (const std::string& name : option->get_lnames())
        text += fmt::format("complete -c orrery -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n",
                            sub->get_name(), name, option->get_items_expected_max() > 0 ? " -r" : "",
                            in_quotes(option->get_description()));
  }
  text += "complete -c orrery -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
  return text + fmt::format("complete -c orrery -n '__fish_prev_arg_in --set' -f -a '{}'\n", field_words());
}

}  // namespace

Action declare_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  const CLI::App* root = app.get_parent();
  return [shell, root](Output& out) {
    out.write(*shell == "bash"  ? bash_script(*root)
              : *shell == "zsh" ? zsh_script(*root)
                                : fish_script(*root));
    return static_cast<int>(kFine);
  };
}

}  // namespace orrery::sim
