package org.horovod4j.runtime;

import org.horovod4j.runtime.timeline.Recorder;

/// What all process sets of a rank have in common.
///
/// @param parts the rank is made of
/// @param recorder is told what happens
/// @param failures what becomes of them
/// @param tuner watches the steps of training
record Common(Parts parts, Recorder recorder, Failures failures, Tuner tuner) {}
