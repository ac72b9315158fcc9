package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/// Encodes an object as bytes and decodes it: for configuration, metrics and other small values.
///
/// Supported are null, booleans, numbers, characters, strings, primitive arrays, enums,
/// [java.time.Duration], [java.time.Instant], [java.util.Optional], and lists, sets, maps and
/// records of these. Anything else is rejected before a byte is sent. Decoded lists, sets and maps
/// are unmodifiable, keep their order, and may contain nulls.
///
/// With Java serialisation the bytes choose which code runs when they are read. Here they can only
/// name a record, which is made by its canonical constructor with all its checks, or a constant of
/// an enum. Classes are found by name. All ranks need the same version of them, which is checked.
///
/// The encoding is one byte for the version, then one value: its [ValueTag], then the content.
/// Lengths are varints, text is UTF-8, and a class is described once, then named by its number.
/// Encoding and decoding take time and memory in proportion to the bytes.
///
/// An instance may be used by many threads.
public final class ObjectCodec {
    /// How deep values may nest. It also ends the encoding of a list that contains itself.
    public static final int MAX_DEPTH = 64;

    static final int VERSION = 1;

    private final ClassLoader loader;

    /// Finds records and enums by the class loader of the calling thread.
    public ObjectCodec() {
        this(loaderOfThisThread());
    }

    /// Finds records and enums by a class loader.
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
    /// @throws CodecException which names the unsupported part of the object and its place
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
