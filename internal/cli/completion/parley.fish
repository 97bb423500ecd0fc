# fish completion of parley: parley completion fish > ~/.config/fish/completions/parley.fish
function __parley_complete
  set -l line (commandline -opc) (commandline -ct)
  $line[1] complete -- $line[2..-1] 2>/dev/null
end
complete -c parley -f -a '(__parley_complete)'
