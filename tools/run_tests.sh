#!/usr/bin/env bash
# All that must hold before a change lands: run_tests.sh BUILD
#
#   format     clang-format agrees with every C file (in a git checkout, where it is installed)
#   tests      the tiers fast and full, as built
#   sanitized  the suite sanitize under AddressSanitizer and UBSan, built with clang
#   threads    the suite threads under ThreadSanitizer, on the null device
#
# Tests of the tiers slow and card, and benchmarks, are run by hand or at night
# (CONTRIBUTING.md).
#
# Each step's own output comes as it runs; what failed is said once more after the last of
# them, and the end is one line that counts them.
set -uo pipefail
build=$1
passed=0 failed=0 skipped=0
failed_builds=()

step() {
    local name=$1 code=0
    shift
    printf '\n== %s\n' "$name"
    "$@" || code=$?
    case $code in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) && printf '== %s failed (exit status %d)\n' "$name" "$code" ;;
    esac
}

check_format() {
    command -v clang-format >/dev/null || { echo "clang-format is not installed"; return 77; }
    git ls-files >/dev/null || { echo "this is no git checkout"; return 77; }
    # Headers of templates other than these are kernel text.
    git ls-files '*.c' '*.h' '*.hpp' | grep -v '^templates/kernels/' | xargs clang-format --dry-run -Werror
}

# A second build of the same tree: name, meson options, then what to run there; no more than
# that is built.
other_build() {
    local folder=$build-$1 options=$2
    shift 2
    command -v clang >/dev/null || { echo "clang is not installed"; return 77; }
    if [ ! -f "$folder/build.ninja" ]; then
        # shellcheck disable=SC2086
        CC=clang CXX=clang++ meson setup "$folder" -Db_lundef=false -Dexamples=false $options || return
    fi
    test_build "$folder" "$@"
}

# One test more at a time than there are cores, as some of them wait.
test_build() {
    local code=0
    meson test -C "$1" --print-errorlogs --num-processes $(($(nproc) + 1)) "${@:2}" || code=$?
    [ "$code" = 0 ] || failed_builds+=("$1")
    return "$code"
}

step format check_format
step tests test_build "$build" --suite fast --suite full
# libOpenCL and PoCL keep what they allocate until the process ends.
export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$PWD/tests/support/leaks.supp
# Mesa's Clover throws while it is loaded, before AddressSanitizer can take that.
pocl=/etc/OpenCL/vendors/pocl.icd
[ -f "$pocl" ] && export OCL_ICD_VENDORS=$pocl
step sanitized other_build asan "-Db_sanitize=address,undefined" --suite sanitize
step threads other_build tsan "-Db_sanitize=thread" --suite threads

for folder in "${failed_builds[@]}"; do
    printf '\n== what failed in %s\n' "$folder"
    tools/failed_tests.py "$folder"
done
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
