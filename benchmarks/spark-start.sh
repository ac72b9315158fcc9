#!/usr/bin/env bash
# Measures how long HvdSpark.run takes with a function that does nothing, beside the barrier stage of
# which it consists: in two executors with one core each, in turns.
source "$(dirname "$0")/common.sh"

np=2
rounds=15
while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || die "usage: benchmarks/spark-start.sh [--np n] [--rounds n] [--seed n]"
    case "$1" in
        --np) np="$2" ;;
        --rounds) rounds="$2" ;;
        --seed) seed="$2" ;;
        *) die "usage: benchmarks/spark-start.sh [--np n] [--rounds n] [--seed n]" ;;
    esac
    shift 2
done

say "building core, launcher, spark and benchmarks"
# shellcheck disable=SC2086 # several options
./mvnw -q -Dquick -DskipTests ${MAVEN_OPTIONS:-} -pl launcher,engines/spark,benchmarks -am package
find_java
start_order
spark_submit "local-cluster[$np,1,1024]" org.horovod4j.benchmarks.spark.StartBenchmark \
    "$np" "$rounds" "$seed"
