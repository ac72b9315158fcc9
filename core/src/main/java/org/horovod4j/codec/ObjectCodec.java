package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/// Turns an object into bytes and back: for configuration, metrics and other small things.
///
/// What may travel: null, booleans, numbers, characters, strings, primitive arrays, enums,
/// [java.time.Duration], [java.time.Instant], [java.util.Optional], and lists, sets, maps and
/// records of these. Anything else is refused before a byte is sent. Lists, sets and maps arrive
/// unmodifiable and in their order, and may hold nulls.
///
/// Java serialisation lets the bytes choose which code runs on arrival. Here they can only name a
/// record, which is made by its canonical constructor and so passes its checks, or a constant of an
/// enum. Classes are found by name, so all ranks need the same version of them, which is checked.
///
/// The bytes are one for the version, then one value: its [ValueTag], then what that kind needs.
/// Lengths are varints, text is UTF-8, and a class is described once, then named by its number.
/// Encoding and decoding take time and memory in proportion to the bytes.
///
/// An instance may be used by many threads.
public final class ObjectCodec {
    /// How deep values may nest. It also ends the encoding of a list that contains itself.
    public static final int MAX_DEPTH = 64;

    static final int VERSION = 1;

    private final ClassLoader loader;

    /// Finds records and enums as the calling thread does.
    public ObjectCodec() {
        this(loaderOfThisThread());
    }

    /// Finds records and enums elsewhere.
    ///
    /// @param loader where records and enums are found by name
    public ObjectCodec(ClassLoader loader) {
        this.loader = loader;
    }

    private static ClassLoader loaderOfThisThread() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        return loader == null ? ClassLoader.getSystemClassLoader() : loader;
    }

    /// Writes an object.
    ///
    /// @throws CodecException naming what is in the object that may not travel, and where
    public byte[] encode(@Nullable Object object) {
        return new ObjectEncoder().encode(object);
    }

    /// Reads what [#encode] wrote.
    ///
    /// @throws CodecException when the bytes are corrupt, or describe classes that differ from ours
    public @Nullable Object decode(byte[] bytes) {
        return decode(MemorySegment.ofArray(bytes));
    }

    /// Like [#decode(byte[])]; nothing of `bytes` is used after the return.
    ///
    /// @throws CodecException when the bytes are corrupt, or describe classes that differ from ours
    public @Nullable Object decode(MemorySegment bytes) {
        return new ObjectDecoder(new ByteReader(bytes), loader).decode();
    }
}
