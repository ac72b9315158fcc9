#!/usr/bin/env bash
# Runs an example in the executors of a Spark application on this machine: a master, two workers with
# an executor each, and the driver, from the jars of Maven's repository. Needs no installation of
# Spark. In a clone it builds first if needed; an unpacked distribution gets Spark by Maven.
#
#   examples/spark.sh SparkRun                 two executors with one core each
#   MASTER='local-cluster[3,1,1024]' examples/spark.sh SparkElastic   another number of them
source "$(dirname "$0")/common.sh"

choose 'import org.horovod4j.spark' "${1:-}"
shift
modules=(core launcher engines/spark)
if uses_framework; then
    modules+=(frameworks/libtorch frameworks/djl)
    [ ! -d engines/spark-djl ] || modules+=(engines/spark-djl) # estimators
    choose_framework
fi

java=
for home in "${JAVA_HOME:-}" "$(readlink -f "$(command -v java)" 2>/dev/null | sed 's|/bin/java$||')" /usr/lib/jvm/*; do
    if [ -x "$home/bin/java" ] && [ "$("$home/bin/java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')" -ge 25 ]; then
        java=$home
        break
    fi
done
[ -n "$java" ] || die "needs a JDK 25 or newer: set JAVA_HOME to one"
export JAVA_HOME=$java # executors use it too

export SPARK_HOME=$PWD/target/spark SPARK_SCALA_VERSION=2.13
mkdir -p "$SPARK_HOME/jars"
if is_distribution; then
    if [ -z "$(find "$SPARK_HOME/jars" -name 'spark-core_*' -print -quit)" ]; then
        say "getting Spark, for which Maven may need the network: 290 MB"
        ./mvnw -q -f examples/libraries/spark.xml dependency:copy-dependencies "-DoutputDirectory=$SPARK_HOME/jars"
    fi
    folders=(lib lib/spark)
    if uses_framework; then
        download_framework
        folders+=(lib/djl examples/lib)
    fi
    jars=$(find "${folders[@]}" -maxdepth 1 -name '*.jar' | paste -sd ,)
    program=$(find examples -maxdepth 1 -name 'horovod4j-examples-*.jar')
else
    if ! is_built "${modules[@]}" examples || [ ! -e engines/spark/target/spark-classpath.txt ] ||
        { uses_framework && ! has_library examples/target/lib; }; then
        say "building, for which Maven may need the network: Spark is 290 MB"
        package ${profile[@]+"${profile[@]}"} -- "${modules[@]}" examples
    fi
    find "$SPARK_HOME/jars" -type l -delete
    tr : '\n' <engines/spark/target/spark-classpath.txt | xargs -I{} ln -sf {} "$SPARK_HOME/jars/"
    folders=(launcher/target/lib)
    ! uses_framework || folders+=(examples/target/lib)
    # Two folders may have the same library, of which Spark takes one.
    jars=$({ jars "${modules[@]}"; find "${folders[@]}" -name '*.jar'; } | awk -F / '!seen[$NF]++' | paste -sd ,)
    program=$(jar examples)
fi

export SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-127.0.0.1}
# Errors of Spark alone, so that the lines of ranks can be read.
mkdir -p "$SPARK_HOME/conf"
cat >"$SPARK_HOME/conf/log4j2.properties" <<EOF
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
EOF
job=("$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow
    --add-modules=jdk.incubator.vector
    -cp "$SPARK_HOME/conf:$SPARK_HOME/jars/*" org.apache.spark.deploy.SparkSubmit
    --master "${MASTER:-local-cluster[2,1,1024]}" --conf spark.ui.enabled=false
    --class "org.horovod4j.examples.$example" --jars "$jars" "$program" "$@")
echo "spark.sh: spark-submit --master ${MASTER:-local-cluster[2,1,1024]} --class org.horovod4j.examples.$example $program $*"
exec "${job[@]}"
