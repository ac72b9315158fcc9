package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.Tensor;
import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.spi.CompositeCall;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/// Collectives on objects: the ranks first exchange the number of bytes, then the bytes.
///
/// A rank whose object cannot be encoded sends a marker in place of the number, so that the others
/// fail too instead of waiting.
final class ObjectCollectives {
    private static final long NOT_ENCODABLE = -1;

    private final Communicator communicator;
    private final RankSet set;

    ObjectCollectives(Communicator communicator, RankSet set) {
        this.communicator = communicator;
        this.set = set;
    }

    <T extends @Nullable Object> T broadcast(String name, T object, int rootRank) {
        EncodedObject mine =
                set.rank() == rootRank
                        ? EncodedObject.of(object)
                        : new EncodedObject(new byte[0], null);
        Communicator parts = CompositeCall.mark(communicator, name, "broadcastObject");
        long[] length = {mine.length()};
        parts.broadcast(name + ".size", Tensor.of(length), rootRank);
        mine.check();
        checkOther(name, set.ranks().get(rootRank), length[0]);
        byte[] bytes = set.rank() == rootRank ? mine.bytes : new byte[Math.toIntExact(length[0])];
        parts.broadcast(name + ".bytes", Tensor.of(bytes), rootRank);
        return decoded(Tensor.of(bytes));
    }

    <T extends @Nullable Object> List<T> allgather(String name, T object) {
        EncodedObject mine = EncodedObject.of(object);
        Communicator parts = CompositeCall.mark(communicator, name, "allgatherObject");
        // With its rank: a rank that has joined contributes no row.
        Tensor row = Tensor.of(new long[] {set.rank(), mine.length()}, 1, 2);
        long[] rows = parts.allgather(name + ".size", row).toLongArray();
        mine.check();
        for (int i = 0; i < rows.length; i += 2) {
            checkOther(name, set.ranks().get((int) rows[i]), rows[i + 1]);
        }
        Tensor all = parts.allgather(name + ".bytes", Tensor.of(mine.bytes));
        List<T> objects = new ArrayList<>();
        long start = 0;
        for (int i = 0; i < rows.length; i += 2) {
            long length = rows[i + 1];
            objects.add(
                    decoded(
                            Tensor.of(
                                    all.segment().asSlice(start, length), all.dataType(), length)));
            start += length;
        }
        return objects;
    }

    private static void checkOther(String name, int rank, long length) {
        if (length == NOT_ENCODABLE) {
            throw new HorovodException(
                    "'%s': the object of rank %d cannot be encoded; that rank's own error says why"
                            .formatted(name, rank));
        }
    }

    /// The caller chooses the type of the object, and whether it may be null.
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals", "NullAway"})
    private static <T extends @Nullable Object> T decoded(Tensor bytes) {
        return (T) new ObjectCodec().decode(bytes.segment());
    }

    /// The bytes of an object, or the reason why it has none.
    private static final class EncodedObject {
        private final byte[] bytes;
        private final @Nullable CodecException failure;

        EncodedObject(byte[] bytes, @Nullable CodecException failure) {
            this.bytes = bytes;
            this.failure = failure;
        }

        static EncodedObject of(@Nullable Object object) {
            try {
                return new EncodedObject(new ObjectCodec().encode(object), null);
            } catch (CodecException e) {
                return new EncodedObject(new byte[0], e);
            } catch (RuntimeException e) { // thrown by a list or map of the user's own
                return new EncodedObject(
                        new byte[0], new CodecException("the object cannot be read: " + e, e));
            }
        }

        long length() {
            return failure == null ? bytes.length : NOT_ENCODABLE;
        }

        void check() {
            if (failure != null) {
                throw failure;
            }
        }
    }
}
