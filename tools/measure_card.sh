#!/usr/bin/env bash
# Measures a device for docs/lab/measurements.md, from nothing, in parts of a given length:
#
#   tools/measure_card.sh PROGRAM DEVICE FOLDER PART=SECONDS...
#   tools/measure_card.sh build/tuner/mmtune cuda:0 card right=180 tune=540 bench=400
#
#   right    every template and operation on the device: none may be wrong
#   tune     the types' suites, one type after another, an equal share of the time each
#   bench    those suites beside the libraries that are there, with what `tune` left
#   seeds    f32 at 4096 cubed three times, a third of the time each: how fast, how alike
#   choice   the loss on shapes that no fit has seen, half of the time with a fresh search
#   studies  the papers' experiments, at the papers' sizes
#
# FOLDER gets each part's log, the profile and the journals (data/mmtune, seeds); nothing
# else is touched. A part that fails is named at the end. Environment: TYPES, SUITES, SHAPE
# replace the lists below; STUDY_DEVICES='cuda:0 opencl:0' compares a card through both.
set -uo pipefail
if [ $# -lt 4 ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
program=$(realpath "$1") device=$2 folder=$3
here=$(realpath "$(dirname "$0")")
shift 3
types=${TYPES:-f32,f64,i32,bf16,f16,tf32,f8e4m3,i8}
suites=${SUITES:-squares,skinny}
shape=${SHAPE:-4096x4096x4096}
mkdir -p "$folder"
folder=$(realpath "$folder")
export XDG_DATA_HOME=$folder/data XDG_CACHE_HOME=${XDG_CACHE_HOME:-$folder/cache}
failed=()

# These are a language model's types; its shapes are measured with them alone.
suites_of() {
    case $1 in
    bf16 | f16 | f8e4m3 | f8e5m2 | i8) echo "$suites,llm" ;;
    *) echo "$suites" ;;
    esac
}

# Seconds for each of a list's items.
share() { echo $(($1 / $(tr , '\n' <<<"$2" | wc -l))); }

# within SECONDS COMMAND...: the command, interrupted after that, then killed.
within() {
    echo "\$ mmtune ${*:3}"
    timeout --signal=INT --kill-after=20 "$@"
    local code=$?
    [ $code = 124 ] && echo "(ended after $1 s)"
    return $code
}

right() {
    local code=0 op
    within "$1" "$program" verify --device "$device" --sample 4 || code=1
    for op in axpby dot heat2d jacobi3d; do
        within "$1" "$program" verify --device "$device" --op $op || code=1
    done
    return $code
}

tune() {
    local code=0 type seconds
    seconds=$(share "$1" "$types")
    for type in ${types//,/ }; do
        within $((seconds + 30)) "$program" --device "$device" --type "$type" \
            --suite "$(suites_of "$type")" --budget "${seconds}s" || code=1
    done
    return $code
}

bench() {
    local code=0 type seconds
    seconds=$(share "$1" "$types")
    for type in ${types//,/ }; do
        within "$seconds" "$program" bench --device "$device" --type "$type" \
            --suite "$(suites_of "$type")" --seconds 0.2 --csv "$folder/bench-$type.csv" || code=1
    done
    return $code
}

seeds() {
    local code=0 seed
    mkdir -p "$folder/seeds"
    for seed in 1 2 3; do
        within $(($1 / 3 + 30)) "$program" --device "$device" --type f32 --shape "$shape" \
            --budget $(($1 / 3))s --seed $seed --fresh -o "$folder/seeds/s$seed.json" || code=1
    done
    return $code
}

choice() {
    local code=0
    within $(($1 / 2)) "$program" regret --device "$device" --type f32 --shapes 80 --seed 5 \
        --budget 0 || code=1
    within $(($1 / 2)) "$program" regret --device "$device" --type f32 --shapes 24 --seed 9 \
        --budget 60 || code=1
    return $code
}

studies() {
    "$here/run_studies.sh" "$program" "$folder/papers" "$1" ${STUDY_DEVICES:-$device}
}

for part in "$@"; do
    name=${part%%=*} seconds=${part#*=}
    case $name in
    right | tune | bench | seeds | choice | studies) ;;
    *)
        echo "there is no part '$name'; right is one of right tune bench seeds choice studies" >&2
        exit 2
        ;;
    esac
    printf '== %s (%s s)\n' "$name" "$seconds"
    "$name" "$seconds" >"$folder/$name.log" 2>&1 || failed+=("$name")
    tail -n 25 "$folder/$name.log" | cut -c 1-160
done
[ ${#failed[@]} = 0 ] || echo "failed or cut short: ${failed[*]}"
[ ${#failed[@]} = 0 ]
