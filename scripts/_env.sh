# Sourced by every script of this folder: finds a Python, makes the environment, says what is missing.
#
#   make_environment EXTRA...   environment with the core, editable, and the named extras of
#                               pyproject.toml; sets PYTHON to its interpreter. Does nothing when
#                               the environment is already up to date.
#   has_module NAME             whether that environment has a module
#   install_packages NAME...    installs Debian packages where it may, else says which and stops
#
# Environment variables:
#   TOPPLE_VENV     use this environment as it is; nothing is installed
#   TOPPLE_PYTHON   the Python to make .venv from (default: the first that fits on PATH)

set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export PYTHONUNBUFFERED=1

# What the bpy wheel loads from the system and a machine without a desktop lacks.
BPY_LIBRARIES="libgl1 libegl1 libsm6 libice6 libxi6 libxfixes3 libxrender1 libxkbcommon0"

say() { printf '\n== %s\n' "$*"; }

fail() {
    printf '\nerror: %s\n' "$*" >&2
    exit 1
}

install_packages() {
    command -v apt-get >/dev/null || fail "these Debian packages (or your system's like) are needed: $*"
    [ "$(id -u)" = 0 ] || fail "some system packages are missing; please run: sudo apt-get install $*"
    say "Installing system packages: $*"
    local log
    log="$(mktemp)"
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "apt-get could not install: $*"
    fi
    rm -f "$log"
}

# bpy exists for 3.11 and 3.13 only, so these come first.
find_python() {
    local candidate
    for candidate in ${TOPPLE_PYTHON:-python3.11 python3.13 python3.12 python3.14 python3}; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    fail "Topple needs Python 3.11 to 3.14${TOPPLE_PYTHON:+; TOPPLE_PYTHON=$TOPPLE_PYTHON is not one}."
}

# Reads pip's output and shows what it is doing; on a terminal as one line with a bar.
show_pip_progress() {
    local line word done total name="" bar
    while IFS= read -r line; do
        line="${line#"${line%%[! ]*}"}"
        read -r word done _ total <<<"$line"
        case "$word" in
        Collecting | Downloading)
            name="${line:0:76}"
            if [ -t 1 ]; then
                printf '\r\033[K  %s' "$name"
            elif [[ "$line" == *" MB)"* ]]; then
                printf '  %s\n' "$line"
            fi
            ;;
        Progress)
            if [ -t 1 ] && [ "${total:-0}" -gt 0 ]; then
                bar="$(printf '%*s' $((done * 20 / total)) '' | tr ' ' '#')"
                printf '\r\033[K  [%-20s] %3d %%  %s' "$bar" $((done * 100 / total)) "${name:0:50}"
            fi
            ;;
        ERROR:) printf '\n%s\n' "$line" ;;
        esac
    done
    if [ -t 1 ]; then printf '\r\033[K'; fi
}

pip_install() {
    if ! "$PYTHON" -m pip install --disable-pip-version-check --no-input --progress-bar=raw "$@" \
        </dev/null 2>&1 | show_pip_progress; then
        fail "pip could not install: $*"
    fi
}

make_venv() {
    local python version
    python="$(find_python)" || exit 1
    version="$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"
    "$python" -c 'import venv, ensurepip' 2>/dev/null || install_packages "$version-venv"
    say "Making .venv with $version ($python)"
    "$python" -m venv --clear "$ROOT/.venv"
    # Debian 12's own pip does not know --progress-bar=raw yet.
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --upgrade "pip>=24.1" </dev/null
}

# bpy is found but does not load where system libraries are missing.
check_bpy_loads() {
    local message
    message="$("$PYTHON" -c 'import bpy' 2>&1)" && return
    case "$message" in
    *"cannot open shared object file"*) install_packages $BPY_LIBRARIES ;;
    esac
    message="$("$PYTHON" -c 'import bpy' 2>&1)" || fail "the bpy wheel does not load: $message"
}

has_module() {
    "$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$1"
}

make_environment() {
    if [ -n "${TOPPLE_VENV:-}" ]; then
        PYTHON="$TOPPLE_VENV/bin/python"
        [ -x "$PYTHON" ] || fail "TOPPLE_VENV=$TOPPLE_VENV has no bin/python"
        return
    fi
    PYTHON="$ROOT/.venv/bin/python"
    local stamp extra missing=""
    exec 9<"$ROOT/pyproject.toml"
    flock 9 # two scripts started at once: the second waits for the first
    if ! "$PYTHON" -c '' 2>/dev/null; then make_venv; fi
    stamp="$(cat "$ROOT/pyproject.toml" "$ROOT/scripts/_env.sh" | sha256sum | cut -c1-16)"
    for extra in "$@"; do
        if [ "$(cat "$ROOT/.venv/installed-$extra" 2>/dev/null)" != "$stamp" ]; then
            missing="$missing${missing:+,}$extra"
        fi
    done
    if [ -n "$missing" ]; then
        say "Installing Python packages ($missing); this is done once"
        pip_install --editable "$ROOT[$missing]"
        if [[ ",$missing," == *,blender,* ]] && has_module bpy; then check_bpy_loads; fi
        for extra in ${missing//,/ }; do echo "$stamp" >"$ROOT/.venv/installed-$extra"; done
    fi
    exec 9<&-
}
