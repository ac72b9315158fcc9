package org.horovod4j.codec;

/// Finds the classes that the bytes name. Rejects all except records and enums.
record ClassFinder(ClassLoader loader) {
    Class<?> findRecord(String name, ValuePath valuePath) {
        Class<?> type = find(name, valuePath);
        if (!type.isRecord()) {
            throw differs(type, "a record", valuePath);
        }
        return type;
    }

    Class<?> findEnum(String name, ValuePath valuePath) {
        Class<?> type = find(name, valuePath);
        if (!type.isEnum()) {
            throw differs(type, "an enum", valuePath);
        }
        return type;
    }

    /// Does not initialise the class: bytes must not run the static initialiser of any class.
    private Class<?> find(String name, ValuePath valuePath) {
        if (!isClassName(name)) {
            throw new CodecException(
                    "'%s', at %s, is not the name of a class".formatted(name, valuePath));
        }
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException | LinkageError e) {
            throw new CodecException(
                    """
                    the class of the value at %s is not on this rank: %s
                    Start every rank with the same class path. If a class loader of yours has \
                    it, make that the context class loader of the thread that starts Horovod4J."""
                            .formatted(valuePath, e),
                    e);
        }
    }

    /// Class loaders make file names of class names, in which a slash or NUL is dangerous.
    private static boolean isClassName(String name) {
        return !name.isEmpty() && name.codePoints().allMatch(ClassFinder::isInClassName);
    }

    private static boolean isInClassName(int codePoint) {
        return codePoint == '.'
                || (Character.isJavaIdentifierPart(codePoint)
                        && !Character.isIdentifierIgnorable(codePoint));
    }

    private static CodecException differs(Class<?> type, String kind, ValuePath valuePath) {
        return new CodecException(
                """
                %s, at %s, is %s for the sender but not here: the ranks run different versions of \
                that class
                Start every rank with the same class path."""
                        .formatted(type.getName(), valuePath, kind));
    }
}
