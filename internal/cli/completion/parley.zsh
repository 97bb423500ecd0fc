#compdef parley
# zsh completion of parley: parley completion zsh > "${fpath[1]}/_parley"
_parley() {
  local line
  local -a found
  for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( ${#found} )); then _describe parley found; else _files; fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _parley "$@"; else compdef _parley parley; fi
