#!/usr/bin/env bash
# Runs a command inside the Debian tree that lies beside this file (made by scripts/install_blender).
#
# Called as `blender` it runs Blender, called as `run` the command it is given. Arguments, environment,
# working folder and exit code are passed through; every folder of the machine that is not part of the
# operating system (/home, /root, /tmp, /work, ...) is seen at its own path. All mounts live in a private
# namespace and end with the command, so any number can run at once and nothing stays mounted.
set -euo pipefail

NAME="$(basename "$0")"
TREE="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)/root"
[ "$(id -u)" = 0 ] || { echo "$NAME: needs root, to enter the Debian tree $TREE" >&2; exit 126; }
if [ "$NAME" = blender ]; then set -- blender "$@"; fi

enter() {
    set -euo pipefail
    local tree="$1" here="$2" folder
    shift 2
    bind() {
        mkdir -p "$tree$1"
        mount --rbind "$1" "$tree$1"
    }
    for folder in /*; do
        case "$folder" in
        /bin | /boot | /etc | /lib* | /lost+found | /proc | /run | /sbin | /sys | /usr | /var) ;;
        *) if [ -d "$folder" ] && [ ! -L "$folder" ]; then bind "$folder"; fi ;;
        esac
    done
    case "${TMPDIR:-}" in /var/*) bind "$TMPDIR" ;; esac
    mount -t proc proc "$tree/proc"
    # What the caller set up for its own Python does not fit the tree's.
    unset PYTHONHOME PYTHONPATH VIRTUAL_ENV LD_LIBRARY_PATH
    export PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
    exec chroot "$tree" bash -c 'cd "$0" && exec "$@"' "$here" "$@"
}
export -f enter
exec unshare --mount --propagation private bash -c 'enter "$@"' enter "$TREE" "$PWD" "$@"
