#!/usr/bin/env bash
# Builds the Debian packages, installs them into a fresh root and uses them there:
#
#   sudo tools/try_debian.sh FOLDER [SUITE [MIRROR]]
#
# FOLDER gets the packages, and `root`, which debootstrap makes: SUITE and MIRROR are those of this
# machine unless given. Needs debhelper, lintian, debootstrap and the packages that debian/control
# names; takes some minutes, and a gigabyte. In the root the tests of debian/tests run, in the order
# of debian/tests/control, each with the packages that it depends on. Exit status 1 where anything
# of it fails, lintian's errors included. With MMTUNE_BUILT in the environment the packages that
# FOLDER has are taken.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 3 ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
tree=$(realpath "$(dirname "$0")/..")
mkdir -p "$1"
folder=$(realpath "$1")
suite=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
mirror=${3:-$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)}
version=$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)
upstream=${version%-*}
root=$folder/root

build() {
    local source=$folder/mmtune-$upstream
    rm -rf "$source" "$folder"/*.deb "$folder"/*.changes
    git -C "$tree" archive --prefix="mmtune-$upstream/" HEAD -- . ':!debian' | gzip >"$folder/mmtune_$upstream.orig.tar.gz"
    tar xzf "$folder/mmtune_$upstream.orig.tar.gz" -C "$folder"
    git -C "$tree" archive HEAD debian | tar x -C "$source"
    (cd "$source" && dpkg-buildpackage -us -uc) >"$folder/build.log" 2>&1
    lintian --allow-root --fail-on error "$folder"/*.changes
}

# The packages of this tree that a test names, and those that Debian has.
depends_of() {
    awk -v test="$1" '
        /^Tests:/ { mine = $2 == test }
        mine && /^Depends:/ { sub("^Depends:", ""); gsub(",", " "); print }
    ' "$tree/debian/tests/control"
}

# apt resolves what the packages need from the mirror.
install_into_root() {
    cp "$folder"/*.deb "$root/opt/"
    local wanted=() package
    for package in "$@"; do
        local own=("$root/opt/${package}"_*.deb)
        if [ -e "${own[0]}" ]; then wanted+=("/opt/$(basename "${own[0]}")"); else wanted+=("$package"); fi
    done
    # Every package of ours is a file: those that others need are offered, too.
    local needed
    for needed in libmmtune0.2 mmtune; do
        [ ! -e "$root/usr/share/doc/$needed" ] && wanted+=("/opt/$(basename "$root/opt/$needed"_*.deb)")
    done
    DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -qq --no-install-recommends "${wanted[@]}" >"$folder/install.log" 2>&1
}

run_test() {
    cp -r "$tree/debian/tests" "$root/opt/"
    local scratch
    scratch=$(mktemp -d "$root/tmp/test.XXXXXX")
    chroot "$root" env AUTOPKGTEST_TMP="/${scratch#"$root"/}" "/opt/tests/$1"
}

echo "== building $version"
[ -n "${MMTUNE_BUILT-}" ] || build
echo "== making a root of $suite"
[ -x "$root/usr/bin/apt-get" ] || debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$folder/debootstrap.log" 2>&1
trap 'umount -q "$root/proc" "$root/sys" || true' EXIT
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
mountpoint -q "$root/sys" || mount -t sysfs -o ro sysfs "$root/sys" # PoCL counts the cores there
# A root of an earlier try has packages of the same version.
chroot "$root" dpkg --purge python3-mmtune libmmtune-cublas libmmtune-dev mmtune libmmtune0.2 >/dev/null 2>&1 || true
for test in $(awk '/^Tests:/ { print $2 }' "$tree/debian/tests/control"); do
    echo "== $test"
    # shellcheck disable=SC2046
    install_into_root $(depends_of "$test")
    run_test "$test"
done
echo "== all well"
