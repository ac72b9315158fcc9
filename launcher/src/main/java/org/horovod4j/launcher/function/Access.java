package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;

/// What this package may call of a program: everything that no module closes.
final class Access {
    private Access() {}

    /// Sees what is private in `owner` too, as the body of a lambda is, unless a module closes it.
    static Lookup lookup(Class<?> owner) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup());
        } catch (IllegalAccessException e) {
            return MethodHandles.publicLookup(); // enough for the public methods of the JDK, say
        }
    }

    /// What to say when a module closes `type`.
    static ConfigurationException closed(Class<?> type) {
        Module ours = Access.class.getModule();
        return new ConfigurationException(
                """
                the function of %1$s is closed to Horovod4J by its module
                Add 'opens %2$s%3$s;' to the module-info of %4$s, \
                or start java with --add-opens %4$s/%2$s=%5$s."""
                        .formatted(
                                type.getName(),
                                type.getPackageName(),
                                ours.isNamed() ? " to " + ours.getName() : "",
                                type.getModule().getName(),
                                ours.isNamed() ? ours.getName() : "ALL-UNNAMED"));
    }
}
