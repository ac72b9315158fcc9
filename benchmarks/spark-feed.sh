#!/usr/bin/env bash
# Measures how fast two ranks in Spark's executors get the values of 2 million rows with 32 floats: as
# rows of Dataset.rdd(), as batches of the Dataset's partitions, and from the files of a Store.
# Usage: benchmarks/spark-feed.sh [--rows n] [--rounds n] [--seed n]
source "$(dirname "$0")/common.sh"

rows=2000000
rounds=7
while [ $# -gt 0 ]; do
    case "$1" in
        --rows) rows="$2" ;;
        --rounds) rounds="$2" ;;
        --seed) seed="$2" ;;
        *) die "usage: benchmarks/spark-feed.sh [--rows n] [--rounds n] [--seed n]" ;;
    esac
    shift 2
done

say "building core, launcher, spark and benchmarks"
./mvnw -q -Dquick -DskipTests ${MAVEN_OPTIONS:-} -pl launcher,engines/spark,benchmarks -am package
find_java
start_order

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Executors start from the jars of a Spark installation, which are links here.
export SPARK_HOME="$folder/spark" SPARK_SCALA_VERSION=2.13 SPARK_LOCAL_IP=127.0.0.1
export JAVA_HOME="${java%/bin/java}"
mkdir -p "$SPARK_HOME/jars" "$SPARK_HOME/conf"
tr : '\n' <engines/spark/target/spark-classpath.txt | xargs -I{} ln -sf {} "$SPARK_HOME/jars/"
cat >"$SPARK_HOME/conf/log4j2.properties" <<END
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
END
jars="$({ for module in core launcher engines/spark; do jar "$module"; done
    find launcher/target/lib -name '*.jar'; } | paste -sd ,)"

# A partition is a file of the table, also if it is large.
"$java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
    --add-modules=jdk.incubator.vector \
    -cp "$SPARK_HOME/conf:$SPARK_HOME/jars/*" org.apache.spark.deploy.SparkSubmit \
    --master 'local-cluster[2,1,2048]' --conf spark.ui.enabled=false \
    --conf spark.executor.memory=2g \
    --conf spark.sql.files.maxPartitionBytes=4g --conf spark.sql.files.openCostInBytes=4g \
    --class org.horovod4j.benchmarks.spark.FeedBenchmark --jars "$jars" "$(jar benchmarks)" \
    "$folder/data" "$rows" "$rounds" "$seed"
