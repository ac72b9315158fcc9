package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

/// Where a value sits inside the object, for errors: `list[3].weights`. It becomes text only when
/// something is wrong.
sealed interface Path {
    /// The object itself, called `word`.
    record Root(String word) implements Path {
        @Override
        public String toString() {
            return word;
        }
    }

    /// An element of a list or set.
    record Element(Path of, int index) implements Path {
        @Override
        public String toString() {
            return of + "[" + index + "]";
        }
    }

    /// A component of a record.
    record Component(Path of, String name) implements Path {
        @Override
        public String toString() {
            return of + "." + name;
        }
    }

    /// The key of the entry at `index` of a map.
    record Key(Path of, int index) implements Path {
        @Override
        public String toString() {
            return of + ".key[" + index + "]";
        }
    }

    /// The value of the entry at `index` of a map.
    record Value(Path of, int index, @Nullable Object key) implements Path {
        private static final int LONGEST_KEY = 40;

        /// Shows a key that reads well, and otherwise the entry's place in the map.
        @Override
        public String toString() {
            return switch (key) {
                case String text when text.length() <= LONGEST_KEY -> of + "[\"" + text + "\"]";
                case Number number -> of + "[" + number + "]";
                case Enum<?> constant -> of + "[" + constant.name() + "]";
                case null, default -> of + ".value[" + index + "]";
            };
        }
    }

    /// What an optional holds.
    record Content(Path of) implements Path {
        @Override
        public String toString() {
            return of + ".get()";
        }
    }

    /// How many containers are around the value.
    default int depth() {
        return switch (this) {
            case Root _ -> 0;
            case Element(Path of, _) -> 1 + of.depth();
            case Component(Path of, _) -> 1 + of.depth();
            case Key(Path of, _) -> 1 + of.depth();
            case Value(Path of, _, _) -> 1 + of.depth();
            case Content(Path of) -> 1 + of.depth();
        };
    }

    /// Refuses a container that would nest too deep for the stack of whoever walks it.
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
