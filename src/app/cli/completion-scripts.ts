/** The completion scripts of shells. Each asks `rookery config completion words -- …` for the candidates, so they never have to change. */

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# rookery config completion for bash: eval "$(rookery config completion bash)"
_rookery() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(rookery config completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _rookery rookery
`,
  zsh: `#compdef rookery
# rookery config completion for zsh: eval "$(rookery config completion zsh)"
_rookery() {
  local -a names texts
  local line
  while IFS= read -r line; do
    names+=("\${line%%$'\\t'*}")
    texts+=("\${line/$'\\t'/  }")
  done < <(rookery config completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  compadd -d texts -a names
}
compdef _rookery rookery
`,
  fish: `# rookery config completion for fish: rookery config completion fish | source
function __rookery_words
  set -l words (commandline -opc) (commandline -ct)
  rookery config completion words -- $words[2..-1] 2>/dev/null
end
complete -c rookery -f -a '(__rookery_words)'
`,
};
