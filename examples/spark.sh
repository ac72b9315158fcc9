#!/usr/bin/env bash
# Runs an example in the executors of a Spark application on this machine: a master, two workers with
# an executor each, and the driver, from the jars of Maven's repository. Needs no installation of
# Spark. In a clone it builds first if needed; an unpacked distribution gets Spark by Maven.
#
#   examples/spark.sh SparkRun                 two executors with one core each
#   MASTER='local-cluster[3,1,1024]' examples/spark.sh SparkElastic   another number of them
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(core launcher engines/spark examples)
sources=examples/src/main/java/org/horovod4j/examples

if [ $# -eq 0 ] || ! grep -qs 'import org.horovod4j.spark' "$sources/$1.java"; then
    echo "spark.sh: name an example first, one of" \
        "$(grep -l 'import org.horovod4j.spark' "$sources"/*.java | sed 's|.*/||; s|\.java||' | paste -sd ' ')" >&2
    exit 2
fi
example=$1
shift

java=
for home in "${JAVA_HOME:-}" "$(readlink -f "$(command -v java)" 2>/dev/null | sed 's|/bin/java$||')" /usr/lib/jvm/*; do
    if [ -x "$home/bin/java" ] && [ "$("$home/bin/java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')" -ge 25 ]; then
        java=$home
        break
    fi
done
if [ -z "$java" ]; then
    echo "spark.sh: needs a JDK 25 or newer: set JAVA_HOME to one" >&2
    exit 2
fi
export JAVA_HOME=$java # executors use it too

jar() { # the jar of a module, without those of its sources and documentation
    find "$1/target" -maxdepth 1 -name "horovod4j-${1##*/}-*.jar" \
        ! -name '*-sources.jar' ! -name '*-javadoc.jar' 2>/dev/null | sort | tail -n 1
}

is_built() { # and no source changed since
    local module
    for module in "${modules[@]}"; do
        [ -n "$(jar "$module")" ] || return 1
        [ -z "$(find "$module/src/main" "$module/pom.xml" -newer "$(jar "$module")" -print -quit)" ] ||
            return 1
    done
}

export SPARK_HOME=$PWD/target/spark SPARK_SCALA_VERSION=2.13
mkdir -p "$SPARK_HOME/jars"
if [ -x bin/horovodrun ]; then # a distribution
    if [ -z "$(find "$SPARK_HOME/jars" -name 'spark-core_*' -print -quit)" ]; then
        echo "spark.sh: getting Spark, for which Maven may need the network: 290 MB"
        ./mvnw -q -f examples/libraries/spark.xml dependency:copy-dependencies "-DoutputDirectory=$SPARK_HOME/jars"
    fi
    jars=$(find lib lib/spark -maxdepth 1 -name '*.jar' | paste -sd ,)
    program=$(find examples -maxdepth 1 -name 'horovod4j-examples-*.jar')
else
    if ! is_built || [ ! -e engines/spark/target/spark-classpath.txt ]; then
        echo "spark.sh: building, for which Maven may need the network: Spark is 290 MB"
        ./mvnw -q -Dquick -DskipTests -pl "$(IFS=,; echo "${modules[*]}")" -am package
    fi
    find "$SPARK_HOME/jars" -type l -delete
    tr : '\n' <engines/spark/target/spark-classpath.txt | xargs -I{} ln -sf {} "$SPARK_HOME/jars/"
    jars=$({ for module in "${modules[@]:0:3}"; do jar "$module"; done
        find launcher/target/lib -name '*.jar'; } | paste -sd ,)
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
