package org.horovod4j.codec;

import java.util.Arrays;

/// An enum class. Its constants are sent by name.
record EnumType(Class<?> type) implements NamedType {
    /// Finds a constant. This initialises the enum.
    Object constant(String name, ValuePath valuePath) {
        try {
            for (Object constant : type.getEnumConstants()) {
                if (((Enum<?>) constant).name().equals(name)) {
                    return constant;
                }
            }
            throw new CodecException(
                    """
                    %s has no constant '%s', which the value at %s has: the ranks run \
                    different versions of that enum
                    Here it has %s. Start every rank with the same class path."""
                            .formatted(
                                    type.getName(),
                                    name,
                                    valuePath,
                                    Arrays.toString(type.getEnumConstants())));
        } catch (LinkageError e) {
            throw new CodecException(
                    "%s, the class of the value at %s, cannot be initialised: %s"
                            .formatted(type.getName(), valuePath, e),
                    e);
        }
    }
}
