# bash completion of parley: source <(parley completion bash)
_parley() {
  local IFS=$'\n' line
  COMPREPLY=()
  for line in $("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    COMPREPLY+=("${line%%$'\t'*}")
  done
}
complete -o default -F _parley parley
