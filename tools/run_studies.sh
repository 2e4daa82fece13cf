#!/usr/bin/env bash
# Does all of the papers' experiments again at the papers' sizes, within a time:
#
#   tools/run_studies.sh PROGRAM FOLDER SECONDS DEVICE...
#
#   tools/run_studies.sh build/tuner/mmtune h200 360 cuda:0 opencl:0
#
# Devices stand side by side where a study takes several: name one card through CUDA and through
# OpenCL. FOLDER gets a folder for each study, with its tables (CSV), its curves (SVG) and what it
# printed (TXT), and run.txt, which says what was run, how long it took and how it ended. Of an
# NVIDIA card, and where nvdisasm is installed, a ladder has how its kernels load from shared memory.
#
# A study that has used up its share of SECONDS ends after the row that it is at, and what it
# measured is kept, but where that row takes a second more: then it is lost, which is told at the
# end. What one leaves of its share, the others get. `longvector` and `pyramid` get 2/3 of theirs
# for measuring, and then measure fewer sizes and rounds. One core of the host gets a hundredth of a
# study's share for each size and layout, and larger sizes are extended as n^3, which the tables
# say. A study that fails is named at the end, and the others are done.
#
# Environment: LADDER, ADDITION, CROSSOVER, LONGVECTOR, PYRAMID, CG are sizes instead of the papers', and
# LADDER_ZATOLOKIN and so on those of one paper's ladder; MEMORY, such as 84G, is what
# ustyuzhanin's product near the limit of memory takes (none: it is left out);
# STUDIES='ladder-* cards' does these alone, and adds to run.txt; KEEP=1 keeps each table as
# JSON, which `study cards FOLDER FOLDER` reads, and each curve's gnuplot script, which is kept
# anyway where gnuplot is not installed: run in its folder, it draws the curve.
set -uo pipefail
if [ $# -lt 4 ] || ! [ "$3" -gt 0 ] 2>/dev/null; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
program=$(realpath "$1") folder=$2 left=$3
loads=$(realpath "$(dirname "$0")/shared_loads.py")
cards=$(realpath "$(dirname "$0")/../profiles/papers")
shift 3
devices=("$@")
list=$(
    IFS=,
    echo "$*"
)
set -f
mkdir -p "$folder" || exit 1
folder=$(realpath "$folder")
log=$folder/run.txt

# ---- what is to be done: name, weight of its time, rows of its ladder, the command's words ----

names=() weights=() rows=() words=()
plan() {
    local pattern chosen=${STUDIES+no}
    for pattern in ${STUDIES-}; do
        # shellcheck disable=SC2053
        [[ $1 == $pattern ]] && chosen=yes
    done
    [ "$chosen" != no ] || return 0
    names+=("$1") weights+=("$2") rows+=("$3")
    words+=("${*:4}")
}

sizes() { echo "${1:+--sizes $1}"; }

# A paper's ladder: name, weight, rows for each device, more words.
plan_ladder() {
    local own=LADDER_${1^^}
    plan "ladder-$1" "$2" $(($3 * ${#devices[@]})) \
        "ladder --device $list --paper $1 $(sizes "${!own-${LADDER-}}") ${*:4}"
}

plan_ladder zatolokin 8 36
plan_ladder semenenko 16 144
plan_ladder ustyuzhanin 10 25 "${MEMORY:+--memory $MEMORY}"
plan addition 8 $((18 * ${#devices[@]})) "addition --device $list $(sizes "${ADDITION-}")"
if [ -n "${CROSSOVER-}" ] || ldconfig -p 2>/dev/null | grep -q libopenblas; then
    plan crossover 3 0 "crossover --device $list $(sizes "${CROSSOVER-}")"
fi
plan cards 1 0 "cards $cards/geforce-gtx-1060.json $cards/quadro-k5000.json"
for device in "${devices[@]}"; do
    short=${device//:/-}
    plan "longvector-$short" 8 0 "longvector --device $device $(sizes "${LONGVECTOR-}")"
    plan "pyramid-$short" 8 0 "pyramid --device $device --sizes ${PYRAMID-384}"
    plan "cg-$short" 12 0 "cg --device $device $(sizes "${CG-}")"
done
plan_ladder gts250 40 72 --type i32,f32,f64 # the longest is last, and gets what the others leave

# ---- one study ---------------------------------------------------------------------------------

# Options that keep a study within SECONDS: limits SECONDS ROWS WORDS
limits() {
    case $3 in
    ladder*) awk "BEGIN { printf \"--seconds %.3f --cpu-seconds %.3f\", 0.5 * $1 / $2, $1 / 100 }" ;;
    addition*) awk "BEGIN { printf \"--seconds %.3f\", 0.5 * $1 / $2 }" ;;
    longvector* | pyramid*) awk "BEGIN { printf \"--seconds %.3f\", 2 * $1 / 3 }" ;;
    cg*) awk "BEGIN { printf \"--cpu-seconds %.3f\", $1 / 20 }" ;;
    esac
}

# Of all kernels of a ladder, in its folder.
count_loads() {
    local ladder
    [ -n "$architecture" ] && command -v nvdisasm >/dev/null || return 0
    for ladder in "$1"/ladder-{zatolokin,semenenko,ustyuzhanin,gts250}.json; do
        [ ! -f "$ladder" ] || "$loads" "$program" "$architecture" "$ladder" >"${ladder%.json}-loads.csv"
    done
}

# Sets `state`.
run_one() {
    local name=$1 seconds=$2 out=$folder/$1 code=0
    local command
    command="study $4 $(limits "$seconds" "$3" "$4")"
    mkdir -p "$out"
    # shellcheck disable=SC2086
    # in the foreground: else it sends the signal twice, and a second one ends a study at once
    timeout --foreground --signal=INT --kill-after=30 "$seconds" "$program" $command --output "$out" \
        >"$out/$name.txt" 2>&1 || code=$?
    case $code in
    0) state="done" ;;
    124 | 130)
        state="cut short"
        ! grep -q 'not yet saved is lost' "$out/$name.txt" || state="lost"
        ;;
    *) state="failed ($code)" ;;
    esac
    printf '%-24s %-12s %4d s   mmtune %s\n' "$name" "$state" $((SECONDS - began)) \
        "$(xargs <<<"${command//"$cards/"/}")" >>"$log"
    [[ $4 != ladder* ]] || count_loads "$out"
    [ -n "${KEEP-}" ] || find "$out" -name "*.json" -delete
    [ -n "${KEEP-}" ] || ! command -v gnuplot >/dev/null || find "$out" -name "*.gp" -delete
    find "$out" -name "*.gp" -exec sed -i "s#^set output '$out/#set output '#" {} +
    sed -i "s#$out/##; s# and \.json\$##" "$out/$name.txt"
}

[ -n "${STUDIES-}" ] || : >"$log"
if [ ${#names[@]} = 0 ]; then
    echo "no study is like '${STUDIES-}'" >&2
    exit 2
fi
architecture=$("$program" devices | grep -o -m 1 'sm_[0-9a-z]*')
{
    date -u '+%Y-%m-%d %H:%M UTC'
    "$program" devices
    echo
} >>"$log" 2>&1
total=0 failed=() cut=() lost=()
for weight in "${weights[@]}"; do total=$((total + weight)); done
for i in "${!names[@]}"; do
    share=$((left * weights[i] / total))
    share=$((share > 2 ? share : 2))
    printf '[%d/%d] %s, %d s at most ... ' $((i + 1)) ${#names[@]} "${names[i]}" "$share"
    began=$SECONDS
    run_one "${names[i]}" "$share" "${rows[i]}" "${words[i]}"
    left=$((left - SECONDS + began)) total=$((total - weights[i]))
    left=$((left > 0 ? left : 0))
    echo "$state, $((SECONDS - began)) s"
    case $state in
    "done") ;;
    cut*) cut+=("${names[i]}") ;;
    lost) lost+=("${names[i]}") ;;
    *)
        failed+=("${names[i]}")
        tail -n 3 "$folder/${names[i]}/${names[i]}.txt"
        ;;
    esac
done

echo "$((${#names[@]} - ${#cut[@]} - ${#lost[@]} - ${#failed[@]})) studies done in $SECONDS s: see $log"
[ ${#cut[@]} = 0 ] || echo "cut short, with what they had measured: ${cut[*]}"
[ ${#lost[@]} = 0 ] || echo "ended within a row, without what was not yet saved: ${lost[*]}"
[ ${#failed[@]} = 0 ] || echo "failed: ${failed[*]}"
[ ${#failed[@]} = 0 ]
