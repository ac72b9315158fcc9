package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

/// The place of a value inside the object, for error messages: `list[3].weights`. Text is made only
/// for an error.
sealed interface ValuePath {
    /// The object itself, called `name`.
    record Root(String name) implements ValuePath {
        @Override
        public String toString() {
            return name;
        }
    }

    /// An element of a list or set.
    record Element(ValuePath parent, int index) implements ValuePath {
        @Override
        public String toString() {
            return parent + "[" + index + "]";
        }
    }

    /// A component of a record.
    record Component(ValuePath parent, String name) implements ValuePath {
        @Override
        public String toString() {
            return parent + "." + name;
        }
    }

    /// The key of the entry at `index` of a map.
    record Key(ValuePath parent, int index) implements ValuePath {
        @Override
        public String toString() {
            return parent + ".key[" + index + "]";
        }
    }

    /// The value of the entry at `index` of a map.
    record Value(ValuePath parent, int index, @Nullable Object key) implements ValuePath {
        private static final int MAX_KEY_LENGTH = 40;

        /// Shows the key if it is a short string, a number or an enum constant, and otherwise the
        /// position of the entry in the map.
        @Override
        public String toString() {
            return switch (key) {
                case String text when text.length() <= MAX_KEY_LENGTH ->
                        parent + "[\"" + text + "\"]";
                case Number number -> parent + "[" + number + "]";
                case Enum<?> constant -> parent + "[" + constant.name() + "]";
                case null, default -> parent + ".value[" + index + "]";
            };
        }
    }

    /// The value of an optional.
    record Content(ValuePath parent) implements ValuePath {
        @Override
        public String toString() {
            return parent + ".get()";
        }
    }

    /// How many containers are around the value.
    default int depth() {
        return switch (this) {
            case Root _ -> 0;
            case Element(ValuePath of, _) -> 1 + of.depth();
            case Component(ValuePath of, _) -> 1 + of.depth();
            case Key(ValuePath of, _) -> 1 + of.depth();
            case Value(ValuePath of, _, _) -> 1 + of.depth();
            case Content(ValuePath of) -> 1 + of.depth();
        };
    }

    /// Rejects a container that nests too deep for the stack.
    default void checkDepth() {
        if (depth() >= ObjectCodec.MAX_DEPTH) {
            throw new CodecException(
                    """
                    the object nests deeper than %d levels, at %s
                    Does it contain itself? Otherwise flatten it, for example into a list whose \
                    elements refer to each other by index."""
                            .formatted(ObjectCodec.MAX_DEPTH, this));
        }
    }
}
