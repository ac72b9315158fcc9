package org.horovod4j.djl;

/// What a program has said about exchanging gradients while backward goes on.
enum OverlapWish {
    /// `overlap(true)`
    ALWAYS,
    /// `overlap(false)`
    NEVER,
    /// Nothing.
    WHERE_IT_PAYS
}
