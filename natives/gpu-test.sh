#!/usr/bin/env bash
# Runs the tests that need a GPU on a machine that has a Java runtime, but no JDK and no Maven.
#
#   natives/gpu-test.sh pack gpu-test.tar   where the sources are: builds, packs jars, tests and this script
#
#   tar xf gpu-test.tar                     on the machine with the GPU
#   gpu-test/gpu-test.sh [options of JUnit's console launcher]
#
# JAVA_HOME chooses the runtime, otherwise the java of the path; it needs the module jdk.incubator.vector.
# With a JDK and Maven, ./mvnw -Pgpu -pl natives/nccl -am verify does the same.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pack() {
    local repo target=$1 stage module
    repo=$(cd "$here/.." && pwd)
    stage=$(mktemp -d)
    mkdir -p "$stage/gpu-test/lib"
    # one call, because a goal finds modules of this build only after their phase
    (cd "$repo" && ./mvnw -q ${MAVEN_FLAGS:-} -Dquick -DskipTests -pl natives/nccl -am -DincludeScope=test \
        -DexcludeGroupIds=org.horovod4j -DoutputDirectory="$stage/gpu-test/lib" \
        package dependency:copy-dependencies)
    for module in core launcher testsupport natives/cuda natives/nccl; do
        cp "$repo/$module"/target/horovod4j-*-SNAPSHOT.jar "$stage/gpu-test/lib/" 2>/dev/null ||
            cp "$repo/$module"/target/horovod4j-*[0-9].jar "$stage/gpu-test/lib/"
    done
    cp -r "$repo/natives/cuda/target/test-classes" "$stage/gpu-test/cuda-tests"
    cp -r "$repo/natives/nccl/target/test-classes" "$stage/gpu-test/nccl-tests"
    rm -f "$stage"/gpu-test/lib/{junit,archunit,apiguardian,opentest4j}*.jar
    local junit
    junit=$(sed -n 's|.*<junit.version>\(.*\)</junit.version>.*|\1|p' "$repo/pom.xml")
    (cd "$repo" && ./mvnw -q ${MAVEN_FLAGS:-} -N dependency:copy -DoutputDirectory="$stage/gpu-test/lib" \
        -Dartifact="org.junit.platform:junit-platform-console-standalone:$junit")
    cp "$here/gpu-test.sh" "$stage/gpu-test/"
    tar -C "$stage" -cf "$target" gpu-test
    rm -rf "$stage"
    echo "packed $target"
}

if [ "${1:-}" = pack ]; then
    pack "${2:?the file to pack into}"
    exit
fi
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
# the jars one by one, because tests pass the class path on to the ranks they start
jars=$(printf '%s:' "$here"/lib/*.jar)
exec "$java" --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED \
    -cp "$here/cuda-tests:$here/nccl-tests:${jars%:}" org.junit.platform.console.ConsoleLauncher execute \
    --disable-banner --details=tree --include-tag=gpu --include-classname='.*(Test|IT)' \
    --scan-class-path="$here/cuda-tests:$here/nccl-tests" "$@"
