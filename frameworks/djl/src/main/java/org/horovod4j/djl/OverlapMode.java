package org.horovod4j.djl;

/// What a program has said about exchanging gradients while backward goes on.
enum OverlapMode {
    /// `overlap(true)`
    ALWAYS,
    /// `overlap(false)`
    NEVER,
    /// Nothing.
    AUTO
}
