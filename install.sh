#!/bin/sh
# Installs a release of Parley for Linux or macOS:
#
#   sh install.sh [VERSION]    # such as 0.1.0; the latest release by default
#
# PARLEY_BIN       the folder for the program; ~/.local/bin by default
# PARLEY_DOWNLOAD  the address of the releases; GitHub's by default
set -eu

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

# fetch URL FILE downloads a file.
fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1"
  else
    fail "curl or wget is required"
  fi
}

# digest FILE prints the SHA-256 checksum of a file.
digest() {
  if command -v sha256sum >/dev/null; then
    sha256sum <"$1"
  else
    shasum -a 256 <"$1"
  fi | cut -d ' ' -f 1
}

# quote TEXT prints a text as a word of the shell.
quote() {
  printf %s "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"
}

main() {
  version=${1:-latest}
  bin=${PARLEY_BIN:-$HOME/.local/bin}
  releases=${PARLEY_DOWNLOAD:-https://github.com/parley-a2a/parley/releases}

  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "no archive for $(uname -s); see $releases" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "no archive for the processor $(uname -m); see $releases" ;;
  esac
  case $version in
    latest) url=$releases/latest/download ;;
    *) url=$releases/download/v${version#v} ;;
  esac

  command -v sha256sum >/dev/null || command -v shasum >/dev/null || fail "sha256sum or shasum is required"
  case $bin in
    /*) ;;
    *) bin=$PWD/$bin ;;
  esac
  [ ! -d "$bin/parley" ] || fail "$bin/parley is a folder; remove it, or set PARLEY_BIN to another folder"

  # The temporary folder is beside the program, so that mv replaces the program in one step.
  { mkdir -p "$bin" && tmp=$(mktemp -d "$bin/.parley.XXXXXX"); } || fail "cannot write to $bin; set PARLEY_BIN to another folder"
  trap 'rm -rf "$tmp"' EXIT
  trap 'exit 1' HUP INT TERM

  fetch "$url/checksums.txt" "$tmp/checksums.txt" || fail "release $version not found: no checksums.txt at $url"
  line=$(grep "_${os}_$arch\.tar\.gz\$" "$tmp/checksums.txt") || fail "$url/checksums.txt lists no archive for $os/$arch"
  archive=${line##* }
  fetch "$url/$archive" "$tmp/archive" || fail "cannot download $url/$archive"
  if [ "$(digest "$tmp/archive")" != "${line%% *}" ]; then
    fail "$archive does not match its SHA-256 checksum; nothing was installed"
  fi
  (cd "$tmp" && tar -xzof archive parley)
  mv -f "$tmp/parley" "$bin/parley"

  printf 'Installed %s as %s.\n' "$archive" "$bin/parley"
  case :$PATH: in
    *":$bin:"*) echo "Start a hub with: parley serve" ;;
    *) printf 'Start a hub with: export PATH=%s:"$PATH" && parley serve\n' "$(quote "$bin")" ;;
  esac
}

main "$@" # at the end, so that half a script does nothing
