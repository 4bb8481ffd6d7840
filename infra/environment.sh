#!/usr/bin/env bash
# Creates a virtual environment with uv, with what requirements-SET.txt lists and the SDK; does nothing if it is there.
#
#   infra/environment.sh FOLDER SET [VERSION [REASON]]
#
# SET is `run`, or `dev`, which includes it. A new environment is built beside the old one and takes its place when it is
# complete: programs that use the old one go on, and whatever fails before changes nothing. If the script is killed when
# it has set the old one aside, the next start puts it back. A new environment keeps the Python of the old one.
# All hashes are in requirements-dev.txt. uv is the one on PATH from OLDEST_UV on, or the locked one, which pip gets into
# .uv. VERSION and REASON are those of find_python.sh.
set -euo pipefail
exec 8>&2 # for people, because a program may parse the standard output, and errors go to a log
cd "$(dirname "$0")/.."
folder=$1 set=$2
shift 2
new=$folder.new old=$folder.old
OLDEST_UV=0.5 BUSY=75
export UV_PYTHON_DOWNLOADS=never

say() { echo "$*" >&8; }

fail() { say "causeway: $1." && exit 1; }

runs() { "$1/bin/python" -ISc 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# The repository in which an environment was built; the SDK is linked to it.
repository_of() { (cd -P "$1/.." && pwd); }

is_complete() {
    local file
    for file in requirements-run.txt "requirements-$set.txt" sdk/pyproject.toml; do
        cmp -s "$file" "$folder/causeway/${file##*/}" || return 1
    done
    repository_of "$folder" | cmp -s - "$folder/causeway/repository" && runs "$folder"
}

# Chooses the Python of the environment, or of the one set aside, before any other.
choose_python() {
    local each
    for each in "$folder" "$old"; do
        python=$each/bin/python
        ! runs "$each" || return 0
    done
    python=$(infra/find_python.sh "$@")
}

lock() {
    "$python" -ISc "import fcntl, sys
try:
    fcntl.flock(9, $1)
except BlockingIOError:
    sys.exit($BUSY)" 2>/dev/null
}

find_uv() {
    for uv in uv .uv/bin/uv; do
        [[ $("$uv" --version 2>/dev/null) =~ ^uv\ ([0-9]+)\.([0-9]+) ]] &&
            ((BASH_REMATCH[1] > 0 || BASH_REMATCH[2] >= ${OLDEST_UV#*.})) && return
    done
    return 1
}

find_pip_wheel() {
    "$python" -Ic 'import ensurepip, glob, sysconfig
folders = [sysconfig.get_config_var("WHEEL_PKG_DIR"), ensurepip.__path__[0] + "/_bundled"]
print([wheel for folder in folders if folder for wheel in glob.glob(folder + "/pip-*.whl")][0])' 2>/dev/null
}

get_uv() {
    local wheel=
    say "Getting uv with pip"
    "$python" -m pip --version &>/dev/null || wheel=$(find_pip_wheel) ||
        fail "this Python has neither pip nor venv: install them (Debian, Ubuntu: \`apt install python3-venv\`)"
    rm -rf .uv.new
    mkdir .uv.new
    sed -n '/^uv==/,/[^\\]$/p' requirements-dev.txt >.uv.new/requirements.txt
    PYTHONPATH=$wheel PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 "$python" -m pip install --no-input \
        --disable-pip-version-check --retries 2 --require-hashes --no-deps --only-binary :all: \
        --target .uv.new --requirement .uv.new/requirements.txt &>"$log" || explain
    rm -rf .uv
    mv .uv.new .uv
    find_uv || fail "the uv in .uv does not run"
}

# uv with pip's settings; shows what it downloads, and keeps all that it says for `explain`.
with_uv() {
    "$python" -I infra/pip_settings.py "$uv" "$@" 2>&1 | tee "$log" | { grep --line-buffered -E '^ *Downloading ' || true; } >&8
}

install() { with_uv pip install --python "$new/bin/python" "$@"; }

build() {
    rm -rf "$new"
    with_uv venv --relocatable --python "$python" "$new" || return 1
    # First from uv's cache alone, which needs no network
    local packages=(--require-hashes --requirement "requirements-$set.txt" --constraint requirements-dev.txt)
    install --offline "${packages[@]}" || { ! is_disk_full && install "${packages[@]}"; } || return 1
    install --offline --no-deps --no-build-isolation --editable ./sdk || return 1
    mkdir "$new/causeway" && cp requirements-run.txt "requirements-$set.txt" sdk/pyproject.toml "$new/causeway" &&
        repository_of "$new" >"$new/causeway/repository" &&
        { [[ ! -e $folder/pip.conf ]] || cp "$folder/pip.conf" "$new"; }
}

is_disk_full() { grep -qiE 'no space left|disk quota|os error 28' "$log"; }

# Says why nothing was installed, without the passwords of indexes, which pip and uv may repeat.
explain() {
    local address problem status
    problem=$("$python" -I infra/pip_settings.py <"$log")
    address=$(grep -oE 'https?://[^/ )]+' <<<"$problem" | head -n 1 | sed 's,//.*@,//,') || true
    status=$(sed -nE 's/.*(\(|HTTP error |returned a )([45][0-9]{2}) .*/\2/p' <<<"$problem" | head -n 1)
    if is_disk_full; then
        fail "the disk is full: make room, and start again"
    elif [[ $status == 4* ]]; then
        fail "${address:-the package index} refuses the request ($status): check its address and credentials"
    elif [[ $status == 5* ]]; then
        fail "${address:-the package index} cannot answer ($status): start again later"
    elif grep -qiE 'certificate' <<<"$problem"; then
        fail "${address:-the package index} has a certificate that this machine does not trust: set \`cert\` for pip"
    elif grep -qiE '(dns|connect|tunnel) error|client error \(connect|timed out|new connection|unreachable' <<<"$problem"; then
        fail "${address:-the package index} cannot be reached: connect to the network, or set an index or a proxy for pip"
    fi
    echo "$problem" >&2
    fail "the packages could not be installed"
}

! is_complete || exit 0

choose_python "$@"
exec 9>.venv.lock
lock "fcntl.LOCK_EX | fcntl.LOCK_NB" || {
    [[ $? == "$BUSY" ]] && say "Waiting for another process that is creating an environment" && lock fcntl.LOCK_EX
} || fail "this folder's file system has no locks: move the repository to another file system"
[[ -e $folder || ! -e $old ]] || mv "$old" "$folder"
! is_complete || exit 0
[[ ! -e $folder/causeway/requirements-dev.txt ]] || set=dev # keep the development packages
choose_python "$@" # again, because the other process has replaced the environment, or this one has put it back

log=$(mktemp)
trap 'rm -rf "$new" .uv.new "$log"' EXIT
trap 'say "causeway: interrupted."; exit 130' INT TERM
say "Creating $folder with $("$python" -V) and $(grep -c '^[a-z].*==' "requirements-$set.txt") packages: takes about half a minute, only once"
find_uv || get_uv
build 2>>"$log" || explain
rm -rf "$old"
[[ ! -e $folder && ! -L $folder ]] || mv "$folder" "$old"
mv "$new" "$folder"
rm -rf "$old"
