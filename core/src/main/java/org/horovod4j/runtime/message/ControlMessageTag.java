package org.horovod4j.runtime.message;

/// The first byte of a control message.
enum ControlMessageTag {
    SUBMIT,
    JOIN,
    DEVIATE,
    STOPPED,
    RESET_DONE,
    RUN,
    FAIL,
    JOINED,
    EVICT,
    LOCK,
    UNLOCK,
    UNLOCKED,
    TUNE
}
