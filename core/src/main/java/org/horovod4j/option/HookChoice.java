package org.horovod4j.option;

/// Whether a framework tells of each gradient while it computes the others.
public enum HookChoice {
    /// Where the way to be told is known to work.
    AUTO,
    /// Also where it is not known to.
    ON,
    OFF
}
