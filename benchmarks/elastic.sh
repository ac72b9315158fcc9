#!/usr/bin/env bash
# Measures the cost of elastic training for ResNet-50 with Adam: the share of a commit in the time
# of a step; the pause after a rank is killed, until the others have completed their next step; and
# the pause when its replacement joins. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=5
np=4
ranks=2
side=224
batch=8
turns=6

usage() {
    cat <<END
usage: benchmarks/elastic.sh [--quick] [--rounds n] [--np n] [--ranks n] [--image n] [--batch n] [--turns n]
  --quick   images of 64 pixels, two turns and two rounds, to see that it works
  --rounds  how many jobs, in each of which one rank is killed (default $rounds)
  --np      number of processes of such a job (default $np)
  --ranks   number of processes that train ResNet-50, with a thread each (default $ranks)
  --image   side of its images, in pixels (default $side)
  --batch   images of a rank in a step (default $batch)
  --turns   how often each mode of commits takes its turn (default $turns)
END
}

while [ $# -gt 0 ]; do
    case "$1" in
        --quick) rounds=2 side=64 turns=2 && shift && continue ;;
        --help) usage && exit ;;
    esac
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --np) np="$2" ;;
        --ranks) ranks="$2" ;;
        --image) side="$2" ;;
        --batch) batch="$2" ;;
        --turns) turns="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done
for number in "$rounds" "$np" "$ranks" "$side" "$batch" "$turns"; do
    [[ "$number" =~ ^[1-9][0-9]*$ ]] || die "'$number' is no whole number above 0; see --help"
done
[ "$np" -gt 1 ] || die "--np: with $np process nobody would be left"

# Waits until a number of steps with this world size has been recorded after a time.
await_steps() { # count size moment
    until [ "$(awk -v s="$2" -v t="$3" '$2 == s && $1 > t' "$scratch/notes" 2>/dev/null | wc -l)" -ge "$1" ]; do
        kill -0 "$job" 2>/dev/null || die "the job has ended early: $(tail -n 5 "$scratch/log")"
        sleep 0.05
    done
}

# Records two times in milliseconds: from the kill to the next step of all other ranks, and from the
# last step without the new rank to the first step with it.
measure() {
    rm -f "$scratch/notes" "$scratch/end"
    ./horovodrun -np "$np" --min-np 1 --start-timeout 300 \
        java -cp "$classpath" org.horovod4j.benchmarks.elastic.ElasticSteps "$scratch/notes" "$scratch/end" \
        >"$scratch/log" 2>&1 &
    job=$!
    await_steps $((100 * np)) "$np" 0
    local victim killed
    victim="$(awk '{ print $3 }' "$scratch/notes" | sort -n | uniq | shuf -n 1)"
    killed="$(date +%s%3N)"
    kill -9 "$victim"
    await_steps $((10 * np)) "$np" $((killed + 500))
    touch "$scratch/end"
    wait "$job" || die "the job failed: $(tail -n 5 "$scratch/log")"
    job=
    awk -v np="$np" -v killed="$killed" '
        $2 == np - 1 && !($3 in next_step) { next_step[$3] = $1 }
        $2 == np - 1 { last[$3] = $1 }
        $2 == np && ($3 in last) && !($3 in joined) { joined[$3] = $1 - last[$3] }
        END {
            for (each in next_step) if (next_step[each] - killed > loss) loss = next_step[each] - killed
            for (each in joined) if (joined[each] > pause) pause = joined[each]
            print loss, pause
        }' "$scratch/notes" >>"$scratch/times"
}

# The median, with minimum and maximum in brackets.
spread() { # column
    cut -d ' ' -f "$1" "$scratch/times" | sort -n | awk '{ v[NR] = $1 } END {
        printf "%d [%d..%d]", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
}

# Runs an elastic job with a fixed number of workers: a commit in an elastic job also checks for
# host updates.
commits() {
    OMP_NUM_THREADS=1 ./horovodrun -np "$ranks" --min-np "$ranks" \
        java -Dai.djl.offline=true --sun-misc-unsafe-memory-access=allow \
        -cp "$classpath:$(jar frameworks/libtorch):$(jar frameworks/djl):$(cat benchmarks/target/libraries.txt)" \
        org.horovod4j.benchmarks.elastic.CommitCost "$side" "$batch" "$turns" \
        >"$scratch/commits" 2>"$scratch/log" || die "the job failed: $(tail -n 5 "$scratch/log")"
    grep -q '^\[0\]<stdout>:commit' "$scratch/commits" || die "the job has measured no commit"
    sed -n 's/^\[0\]<stdout>://p' "$scratch/commits" | while read -r line; do say "$line"; done
}

build
scratch="$(mktemp -d)"
job=
trap '[ -z "$job" ] || kill "$job" 2>/dev/null || true; rm -rf "$scratch"' EXIT
say "load of the machine: $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) cores"
commits
for ((round = 1; round <= rounds; round++)); do
    measure
    say "round $round, ms from kill to step, of pause: $(tail -n 1 "$scratch/times")"
done
say "kill -9 of one of $np ranks until the next step of all others: $(spread 1) ms (aim: less than 2000)"
say "pause of the others when a rank joins: $(spread 2) ms (aim: less than 3000)"
