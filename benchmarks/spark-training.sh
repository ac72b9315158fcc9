#!/usr/bin/env bash
# Measures the training of a network by an estimator in two executors of Spark, beside the same training
# by horovodrun on the same cores, in turns. Each rank has one compute thread.
# Usage: benchmarks/spark-training.sh [--rounds n] [--rows n] [--epochs n] [--np n] [--seed n]
source "$(dirname "$0")/common.sh"

rounds=5
rows=20000
epochs=5
np=2
while [ $# -gt 0 ]; do
    case "$1" in
        --rounds) rounds="$2" ;;
        --rows) rows="$2" ;;
        --epochs) epochs="$2" ;;
        --np) np="$2" ;;
        --seed) seed="$2" ;;
        *) die "usage: benchmarks/spark-training.sh [--rounds n] [--rows n] [--epochs n] [--np n] [--seed n]" ;;
    esac
    shift 2
done

say "building core, launcher, djl, spark and benchmarks"
./mvnw -q -Dquick -DskipTests ${MAVEN_OPTIONS:-} -pl launcher,engines/spark-djl,benchmarks -am package
find_java
start_order

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Executors start from the jars of a Spark installation, which are links here.
export SPARK_HOME="$folder/spark" SPARK_SCALA_VERSION=2.13 SPARK_LOCAL_IP=127.0.0.1
export JAVA_HOME="${java%/bin/java}" DJL_OFFLINE=true OMP_NUM_THREADS=1
mkdir -p "$SPARK_HOME/jars" "$SPARK_HOME/conf"
tr : '\n' <engines/spark/target/spark-classpath.txt | xargs -I{} ln -sf {} "$SPARK_HOME/jars/"
cat >"$SPARK_HOME/conf/log4j2.properties" <<END
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
END
modules=(core launcher frameworks/libtorch frameworks/djl engines/spark engines/spark-djl)
own="$(for module in "${modules[@]}"; do jar "$module"; done; find launcher/target/lib -name '*.jar')"
djl="$(tr : '\n' <benchmarks/target/libraries.txt | grep -E '/(ai/djl|com/google/code/gson|net/java/dev/jna|org/apache/commons/commons-compress)/')"

horovodrun() {
    "$horovodrun" -np "$np" java --sun-misc-unsafe-memory-access=allow \
        -cp "$(jar benchmarks):$(paste -sd : <<<"$own"):$(paste -sd : <<<"$djl"):$(tr : '\n' <benchmarks/target/libraries.txt | grep slf4j | paste -sd :)" \
        org.horovod4j.benchmarks.spark.training.PlainBenchmark "$rows" "$epochs"
}

estimator() {
    "$java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
        --add-modules=jdk.incubator.vector \
        -cp "$SPARK_HOME/conf:$SPARK_HOME/jars/*" org.apache.spark.deploy.SparkSubmit \
        --master "local-cluster[$np,1,2048]" --conf spark.ui.enabled=false \
        --conf spark.executor.memory=2g --conf spark.executorEnv.OMP_NUM_THREADS=1 \
        --class org.horovod4j.benchmarks.spark.training.EstimatorBenchmark \
        --jars "$(paste -sd , <<<"$own"),$(paste -sd , <<<"$djl")" "$(jar benchmarks)" \
        "$rows" "$epochs" "$np" "file://$folder/store"
}

for ((round = 1; round <= rounds; round++)); do
    declare -A rate
    shuffle horovodrun estimator
    for program in "${shuffled[@]}"; do
        "$program" >"$folder/output" 2>&1 || { cat "$folder/output" >&2; die "$program failed"; }
        rate[$program]="$(sed -n 's/^\[0\]<stdout>:rate //p' "$folder/output" | median)"
    done
    ratio="$(awk "BEGIN { print ${rate[estimator]} / ${rate[horovodrun]} }")"
    echo "$ratio" >>"$folder/ratios"
    say "round $round: estimator ${rate[estimator]} rows/s, horovodrun ${rate[horovodrun]} rows/s, ratio $ratio"
done
say "estimator ÷ horovodrun: $(median_and_range <"$folder/ratios") in $rounds rounds"
