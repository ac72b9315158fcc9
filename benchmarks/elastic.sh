#!/usr/bin/env bash
# How long an elastic job stands still: when one of its ranks is killed, until the others have completed
# their next step; and when the rank that takes its place joins.
source "$(dirname "$0")/common.sh"

rounds=5
np=4

usage() {
    cat <<END
usage: benchmarks/elastic.sh [--rounds n] [--np n]
  --rounds  how many jobs, in each of which one rank is killed (default $rounds)
  --np      number of processes (default $np)
END
}

while [ $# -gt 0 ]; do
    [ "$1" != --help ] || { usage && exit; }
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --np) np="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done
[ "$np" -gt 1 ] || die "--np: with $np process nobody would be left"

# Waits until so many steps were noted in a world of that size, after that moment.
await_steps() { # count size moment
    until [ "$(awk -v s="$2" -v t="$3" '$2 == s && $1 > t' "$scratch/notes" 2>/dev/null | wc -l)" -ge "$1" ]; do
        kill -0 "$job" 2>/dev/null || die "the job has ended early: $(tail -n 5 "$scratch/log")"
        sleep 0.05
    done
}

# Notes two times in milliseconds: from the kill to the next step of all others, and from the last step
# without the new rank to the first with it.
measure() {
    rm -f "$scratch/notes" "$scratch/end"
    ./horovodrun -np "$np" --min-np 1 --start-timeout 300 \
        java -cp "$classpath" org.horovod4j.benchmarks.ElasticSteps "$scratch/notes" "$scratch/end" \
        >"$scratch/log" 2>&1 &
    job=$!
    await_steps $((100 * np)) "$np" 0
    local victim killed
    victim="$(awk '{ print $3 }' "$scratch/notes" | sort -n | uniq | shuf -n 1)"
    killed="$(date +%s%3N)"
    kill -9 "$victim"
    await_steps $((100 * np)) "$np" $((killed + 500))
    touch "$scratch/end"
    wait "$job" || die "the job failed: $(tail -n 5 "$scratch/log")"
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

# The median and, in brackets, the least and the greatest.
spread() { # column
    cut -d ' ' -f "$1" "$scratch/times" | sort -n | awk '{ v[NR] = $1 } END {
        printf "%d [%d..%d]", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
}

build
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
for ((round = 1; round <= rounds; round++)); do
    measure
    say "round $round, ms from kill to step, of pause: $(tail -n 1 "$scratch/times")"
done
say "kill -9 of one of $np ranks until the next step of all others: $(spread 1) ms (aim: less than 2000)"
say "pause of the others when a rank joins: $(spread 2) ms (aim: less than 3000)"
