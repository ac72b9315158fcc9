package org.horovod4j.runtime.message;

/// The first byte of a control message.
enum ControlMessageTag {
    SUBMIT,
    JOIN,
    FAIL_STEP,
    DEVIATE,
    STOPPED,
    RESET_DONE,
    RUN,
    FAIL,
    JOINED,
    STEP_ENDED,
    EVICT,
    LOCK,
    UNLOCK,
    UNLOCKED,
    TUNE
}
