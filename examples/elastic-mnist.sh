#!/usr/bin/env bash
# Trains on MNIST while you edit target/hosts.txt: localhost:4 instead of localhost:2 adds two processes.
# Arguments go to the program: examples/elastic-mnist.sh --epochs 50.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p target
echo localhost:2 >target/hosts.txt
echo "elastic-mnist.sh: edit target/hosts.txt while it runs, or kill -9 one of the processes"
# More threads than cores make each process slower; how many there will be is not known here.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
export RUN_FLAGS="--min-np 1 --host-discovery-script examples/discover.sh"
exec examples/run.sh ElasticMnist "$@"
