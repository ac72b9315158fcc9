package org.horovod4j.option;

/// Whether hooks report each gradient while the framework computes the others, so that it can be
/// reduced at once.
public enum HookChoice {
    /// Hooks are used with versions that are known to work, and gradients are reduced at once if
    /// that can pay, unless the program says otherwise.
    AUTO,
    /// Hooks are used with all versions, and gradients are reduced at once, unless the program says
    /// otherwise.
    ON,
    /// No hooks, even if the program asks for them.
    OFF
}
