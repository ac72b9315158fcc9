#!/usr/bin/env bash
# Trains a small network on MNIST with four processes on this machine, from a fresh clone on.
# Arguments go to the program: examples/mnist.sh --epochs 10. NP=2 changes the number of processes.
set -euo pipefail
cd "$(dirname "$0")/.."

jar() { # the jar of a module, without those of its sources and documentation
    find "$1/target" -maxdepth 1 -name "horovod4j-$1-*.jar" \
        ! -name '*-sources.jar' ! -name '*-javadoc.jar' 2>/dev/null | sort | tail -n 1
}

is_built() { # the launcher, too, and nothing changed since
    local module
    for module in core launcher examples; do
        [ -n "$(jar "$module")" ] || return 1
        [ -z "$(find "$module/src/main" -newer "$(jar "$module")" -print -quit)" ] || return 1
    done
}

if ! is_built; then
    echo "mnist.sh: building core, launcher and examples, for which Maven may need the network"
    ./mvnw -q -Dquick -DskipTests -pl launcher,examples -am package
fi

job=(./horovodrun -np "${NP:-4}"
    java -cp "$(jar examples):$(jar core)" org.horovod4j.examples.Mnist "$@")
echo "mnist.sh: running ${job[*]}"
exec "${job[@]}"
