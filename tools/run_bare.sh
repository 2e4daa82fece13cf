#!/usr/bin/env bash
# Runs a program as in a bare container: no shell, no compiler, no home, nothing that can be written.
#
#   tools/run_bare.sh [--file FILE]... [--set NAME=VALUE]... [--writable FOLDER] PROGRAM [ARGUMENT...]
#
# The root has the program, each FILE (a library, a folder, a device file), the libraries that these are
# linked with, /proc, /sys and /dev/null. All stand at their own paths. The environment has what is set,
# and LD_LIBRARY_PATH. FOLDER is in memory, and can be written. The user is `nobody` where root starts
# this. Ends with the program's exit status, or with 77 where the machine lets nobody make such a root.
# docs/howto/container.md has it with a bundle.
set -euo pipefail

files=() settings=() writable='' root=''
if [ "${1-}" = --inside ]; then root=$2 && shift 2; fi
all=("$@")
while [ $# -gt 0 ]; do
    case $1 in
    --file) files+=("$2") && shift 2 ;;
    --set) settings+=("$2") && shift 2 ;;
    --writable) writable=$2 && shift 2 ;;
    *) break ;;
    esac
done
if [ $# -eq 0 ] || [[ $1 != /* ]]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi

# The mounts end with their namespace.
if [ -z "$root" ]; then
    namespace=(unshare --mount --propagation private)
    [ "$(id -u)" = 0 ] || namespace+=(--map-root-user)
    "${namespace[@]}" true 2>/dev/null || { echo "no namespace of mounts can be made here" >&2; exit 77; }
    root=$(mktemp -d)
    trap 'rmdir "$root"' EXIT
    code=0
    "${namespace[@]}" "$0" --inside "$root" "${all[@]}" || code=$?
    exit "$code"
fi

libraries_of() {
    local file magic
    find -L "$@" -type f 2>/dev/null | while read -r file; do
        LC_ALL=C read -r -N 4 magic <"$file" || true
        [ "$magic" != $'\x7fELF' ] || ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true
    done | sort -u
}

mount_at() {
    if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")" && touch "$root$1"; fi
    mount --rbind "$1" "$root$1"
}

mount -t tmpfs -o mode=755 tmpfs "$root"
for link in /bin /lib /lib64; do # to /usr, where the machine has it so
    if [ -L "$link" ]; then mkdir -p "$root/usr$link" && cp -P "$link" "$root"; fi
done
mapfile -t libraries < <(libraries_of "$1" "${files[@]}")
for file in "$1" "${files[@]}" "${libraries[@]}"; do
    if [ -c "$file" ]; then mount_at "$file"; else cp -rL --parents "$file" "$root"; fi
done
for file in /proc /sys /dev/null; do mount_at "$file"; done
[ -z "$writable" ] || mkdir -p "$root$writable"
mount -o remount,bind,ro "$root"
[ -z "$writable" ] || mount -t tmpfs -o mode=1777 tmpfs "$root$writable"

folders=$(printf '%s\n' "${libraries[@]}" "${files[@]}" | grep '\.so' | sed 's,/[^/]*$,,' | sort -u | paste -sd : || true)
user=()
[ "$(awk '{ print $2 }' /proc/self/uid_map)" != 0 ] || user=(--userspec=65534:65534)
env -i "LD_LIBRARY_PATH=$folders" "${settings[@]}" "$(command -v chroot)" "${user[@]}" "$root" "$@"
