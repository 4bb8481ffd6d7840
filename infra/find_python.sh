#!/usr/bin/env bash
# Prints the path of an interpreter of one Python VERSION; without VERSION, of 3.11 or later. Where there is none, it says
# in one sentence why it is needed (REASON), and how to get it.
#
#   infra/find_python.sh [VERSION [REASON]]
#
# It looks at $CAUSEWAY_PYTHON (for a VERSION only), at PATH, and at pyenv's versions. Each interpreter is run, not only
# found: pyenv puts a program on PATH for each version that it has, which ends with 127 unless that version is selected.
set -euo pipefail
version=${1:-} reason=${2:-}
oldest=3.11

check='
import sys, sysconfig
wanted, found = tuple(map(int, sys.argv[1].split("."))), sys.version_info[:2]
if sys.argv[2] == "or later":
    suits = found >= wanted
else:  # compiled modules of a pre-release or of a build without the GIL do not load in a released Python
    suits = found == wanted and sys.version_info.releaselevel == "final" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(sys.executable)
sys.exit(not suits)
'

suits() {
    if [[ -n $version ]]; then
        "$1" -I -c "$check" "$version" exactly
    else
        "$1" -I -c "$check" "$oldest" "or later"
    fi
}

candidates() {
    if [[ -n $version && -n ${CAUSEWAY_PYTHON:-} ]]; then
        echo "$CAUSEWAY_PYTHON"
        return
    fi
    for each in ${version:-3.11 3.14 3.13 3.12 3}; do # the oldest first: what is tested on it runs on the others
        type -ap "python$each" || true
        printf '%s\n' "${HOME:-}/.pyenv/versions/$each"*"/bin/python$each"
    done
}

while IFS= read -r candidate; do
    if found=$(suits "$candidate" 2>/dev/null </dev/null); then
        echo "$found"
        exit
    fi
done < <(candidates)

if [[ -z $version ]]; then
    echo "causeway: Python $oldest or later is needed, and there is none on this machine." >&2
else
    {
        echo -n "causeway: Python $version is needed${reason:+, because $reason}: install it with"
        echo -n " \`apt install python$version-venv\` (Debian 13), \`brew install python@$version\` (macOS)"
        echo -n " or \`pyenv install $version\`, or set CAUSEWAY_PYTHON to its path"
        echo "${CAUSEWAY_PYTHON:+ (now $CAUSEWAY_PYTHON, which is not Python $version)}."
    } >&2
fi
exit 1
