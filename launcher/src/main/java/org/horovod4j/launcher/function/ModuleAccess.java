package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;

/// Access to the classes of a program, as far as their module permits.
final class ModuleAccess {
    private ModuleAccess() {}

    /// A lookup that includes private members of `owner`, such as the body of a lambda, unless its
    /// module forbids it.
    static Lookup lookup(Class<?> owner) {
        // A private lookup needs a module that reads the owner's.
        ModuleAccess.class.getModule().addReads(owner.getModule());
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup());
        } catch (IllegalAccessException e) {
            return MethodHandles
                    .publicLookup(); // enough for public methods, such as those of the JDK
        }
    }

    /// The exception when a module does not open `type`. The remedy has no "to": records of that
    /// package, sent as results, must be open to another module of Horovod4J as well.
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
