#!/usr/bin/env bash
# Trains a convolutional network on MNIST with two processes on this machine. Works in a fresh clone.
# Arguments go to the program: examples/mnist.sh --epochs 10. NP=4 changes the number of processes.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p target
export HOROVOD_TIMELINE=${HOROVOD_TIMELINE:-target/mnist-timeline.json}
exec examples/run.sh Mnist "$@"
