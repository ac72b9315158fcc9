package org.horovod4j.option;

/// Whether a framework tells of each gradient while it computes the others, and whether the gradient
/// then travels at once.
public enum HookChoice {
    /// Told where the way to be told is known to work, and sent at once where that can pay, if the program
    /// does not say otherwise.
    AUTO,
    /// Told also where that is not known to work, and sent at once if the program does not say otherwise.
    ON,
    /// Not told, whatever the program says.
    OFF
}
