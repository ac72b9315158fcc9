package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

/// The kinds of values, each with its byte in the encoding.
///
/// The byte of a kind is never reused for another: ranks with different versions of Horovod4J must
/// fail rather than misread each other.
enum ValueTag {
    NULL(0),
    FALSE(1),
    TRUE(2),
    BYTE(3),
    SHORT(4),
    INTEGER(5),
    LONG(6),
    FLOAT(7),
    DOUBLE(8),
    CHARACTER(9),
    STRING(10),
    BIG_INTEGER(11),
    BIG_DECIMAL(12),
    DURATION(13),
    INSTANT(14),
    BOOLEANS(16),
    BYTES(17),
    SHORTS(18),
    INTEGERS(19),
    LONGS(20),
    FLOATS(21),
    DOUBLES(22),
    CHARACTERS(23),
    ENUM(32),
    RECORD(33),
    OPTIONAL(34),
    EMPTY_OPTIONAL(35),
    LIST(36),
    SET(37),
    MAP(38);

    private static final int CODES = 64;
    private static final @Nullable ValueTag[] BY_CODE = byCode();

    private final int code;

    ValueTag(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    /// The kind with this byte, or null when there is none.
    static @Nullable ValueTag of(int code) {
        return code < 0 || code >= CODES ? null : BY_CODE[code];
    }

    private static @Nullable ValueTag[] byCode() {
        @Nullable ValueTag[] tags = new @Nullable ValueTag[CODES];
        for (ValueTag valueTag : values()) {
            tags[valueTag.code] = valueTag;
        }
        return tags;
    }
}
