package org.horovod4j.collectives.algorithm;

import org.horovod4j.DataType;
import org.horovod4j.collectives.algorithm.AdasumPartition.Piece;
import org.horovod4j.collectives.algorithm.AdasumTree.Pair;
import org.horovod4j.collectives.kernel.AdasumKernel;
import org.horovod4j.collectives.kernel.DotProducts;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// The calculations of one rank in an Adasum: its share of every rank's vectors, level by level.
///
/// | exchanges                                  | bytes read and written by each rank  |
/// |--------------------------------------------|--------------------------------------|
/// | a small table per level, `log2 n` rounded up | about 5 times all tensors          |
///
/// The weights need the dot products of whole tensors. For a tensor that lies completely in its
/// share, the rank has them. For the at most two split tensors, the ranks that have a piece
/// exchange the dot products of their pieces, and each rank adds them in share order. So all ranks
/// get the same weights, whatever kernels calculated the products.
public final class PartitionedAdasum {
    /// A share has pieces of at most two split tensors.
    private static final int SIDES = 2;

    private final AdasumKernel kernel;
    private final AdasumTree tree;

    public PartitionedAdasum(AdasumKernel kernel, AdasumTree tree) {
        this.kernel = kernel;
        this.tree = tree;
    }

    /// Exchanges the dot products between the ranks.
    public interface Exchange {
        /// Fills in the entries of the other ranks in `table`; each rank has written its own entry.
        ///
        /// @param entryBytes the size of one rank's entry
        void run(MemorySegment table, long entryBytes);
    }

    /// The size of the table of an [Exchange].
    public long tableBytes(AdasumPartition shares) {
        return shares.hasSplitTensors() ? shares.count() * entryBytes(tree.maxPairs()) : 0;
    }

    /// Combines all vectors; the result replaces the first.
    ///
    /// @param share the share of this rank
    /// @param vectors this share of each rank's tensors, one rank after the other
    /// @param table memory for the exchange
    public void run(
            DataType dataType,
            AdasumPartition shares,
            int share,
            MemorySegment vectors,
            MemorySegment table,
            Exchange exchange) {
        new Computation(dataType, shares, share, vectors, table).run(exchange);
    }

    private static long entryBytes(int pairs) {
        return (long) pairs * SIDES * DotProducts.BYTES;
    }

    private final class Computation {
        private final DataType dataType;
        private final AdasumPartition shares;
        private final int share;
        private final MemorySegment vectors;
        private final MemorySegment table;
        private final List<Piece> pieces;
        private final List<Piece> splitPieces;

        Computation(
                DataType dataType,
                AdasumPartition shares,
                int share,
                MemorySegment vectors,
                MemorySegment table) {
            this.dataType = dataType;
            this.shares = shares;
            this.share = share;
            this.vectors = vectors;
            this.table = table;
            this.pieces = shares.pieces(share);
            this.splitPieces = pieces.stream().filter(Piece::split).toList();
        }

        void run(Exchange exchange) {
            for (List<Pair> level : tree.levels()) {
                long entryBytes = entryBytes(level.size());
                for (int pair = 0; pair < level.size(); pair++) {
                    begin(level.get(pair), pair, entryBytes);
                }
                if (shares.hasSplitTensors()) {
                    exchange.run(table, entryBytes);
                    for (int pair = 0; pair < level.size(); pair++) {
                        for (Piece piece : splitPieces) {
                            DotProducts sum = sum(piece.tensor(), pair, entryBytes);
                            combine(level.get(pair), piece, sum);
                        }
                    }
                }
            }
        }

        /// Combines the pieces of whole tensors, and writes the dot products of split ones to the
        /// table.
        private void begin(Pair pair, int index, long entryBytes) {
            for (Piece piece : pieces) {
                DotProducts dotProducts =
                        kernel.products(
                                dataType,
                                vectors,
                                at(pair.left(), piece),
                                vectors,
                                at(pair.right(), piece),
                                piece.count());
                if (piece.split()) {
                    dotProducts.write(table, entry(share, piece.tensor(), index, entryBytes));
                } else {
                    combine(pair, piece, dotProducts);
                }
            }
        }

        private DotProducts sum(int tensor, int pair, long entryBytes) {
            DotProducts sum = DotProducts.EMPTY;
            for (int other = 0; other < shares.count(); other++) {
                if (shares.contains(other, tensor)) {
                    sum = sum.plus(DotProducts.read(table, entry(other, tensor, pair, entryBytes)));
                }
            }
            return sum;
        }

        private void combine(Pair pair, Piece piece, DotProducts dotProducts) {
            kernel.combine(
                    dataType,
                    dotProducts.weights(),
                    vectors,
                    at(pair.left(), piece),
                    vectors,
                    at(pair.left(), piece),
                    vectors,
                    at(pair.right(), piece),
                    piece.count());
        }

        private long at(int vector, Piece piece) {
            return (vector * shares.size(share) + piece.start()) * dataType.byteSize();
        }

        private long entry(int share, int tensor, int pair, long entryBytes) {
            int slot = pair * SIDES + shares.side(share, tensor);
            return share * entryBytes + (long) slot * DotProducts.BYTES;
        }
    }
}
