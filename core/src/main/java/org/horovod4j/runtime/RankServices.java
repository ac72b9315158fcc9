package org.horovod4j.runtime;

import org.horovod4j.runtime.timeline.Recorder;

/// What all process sets of a rank have in common.
///
/// @param rankComponents the rank is made of
/// @param recorder is told what happens
/// @param failureHandler what becomes of them
/// @param autotunerBinding watches the steps of training
record RankServices(
        RankComponents rankComponents,
        Recorder recorder,
        FailureHandler failureHandler,
        AutotunerBinding autotunerBinding) {}
