package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;

/// What this package may call of a program: everything that no module closes.
final class ModuleAccess {
    private ModuleAccess() {}

    /// Sees what is private in `owner` too, as the body of a lambda is, unless a module closes it.
    static Lookup lookup(Class<?> owner) {
        // A private lookup needs a module that reads the owner's.
        ModuleAccess.class.getModule().addReads(owner.getModule());
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup());
        } catch (IllegalAccessException e) {
            return MethodHandles.publicLookup(); // enough for the public methods of the JDK, say
        }
    }

    /// What to say when a module closes `type`. Without a "to" in the remedy: records in that
    /// package, sent as results, need it to be open to another module of ours.
    static ConfigurationException notOpen(Class<?> type) {
        return new ConfigurationException(
                """
                the function of %s is closed to Horovod4J by its module
                Add 'opens %s;' to the module-info of %s."""
                        .formatted(
                                type.getName().replaceFirst("\\$\\$Lambda.*", ""),
                                type.getPackageName(),
                                type.getModule().getName()));
    }
}
