package org.horovod4j.collectives.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.collectives.algorithm.AdasumPartition.Piece;
import org.horovod4j.collectives.kernel.AdasumKernel;
import org.junit.jupiter.api.Test;

import java.util.SplittableRandom;

class AdasumPartitionTest {
    private static final long BLOCK = AdasumKernel.BLOCK;

    @Test
    void longTensorIsSplitAtBlockBoundaries() {
        AdasumPartition shares = new AdasumPartition(new long[] {0, 3 * BLOCK + 5}, 2);
        assertThat(shares.hasSplitTensors()).isTrue();
        assertThat(shares.pieces(0)).containsExactly(new Piece(0, 0, 2 * BLOCK, true));
        assertThat(shares.pieces(1)).containsExactly(new Piece(0, 0, BLOCK + 5, true));
    }

    @Test
    void shortTensorsAreNotSplit() {
        AdasumPartition shares = new AdasumPartition(new long[] {0, 7, 7, 10, 15}, 3);
        assertThat(shares.hasSplitTensors()).isFalse();
        assertThat(shares.pieces(0)).containsExactly(new Piece(0, 0, 7, false));
        assertThat(shares.pieces(1)).containsExactly(new Piece(2, 0, 3, false));
        assertThat(shares.pieces(2)).containsExactly(new Piece(3, 0, 5, false));
    }

    @Test
    void someSharesAreEmptyWithMoreRanksThanBlocks() {
        AdasumPartition shares = new AdasumPartition(new long[] {0, 2 * BLOCK}, 5);
        long sum = 0;
        for (int share = 0; share < 5; share++) {
            sum += shares.size(share);
            assertThat(shares.size(share) % BLOCK).isZero();
        }
        assertThat(sum).isEqualTo(2 * BLOCK);
    }

    @Test
    void zeroElementsArePartitioned() {
        AdasumPartition shares = new AdasumPartition(new long[] {0, 0, 0}, 3);
        assertThat(shares.hasSplitTensors()).isFalse();
        assertThat(shares.pieces(1)).isEmpty();
        assertThat(shares.size(2)).isZero();
    }

    @Test
    void sharesCoverAllElementsAndSplitAtMostTwoTensorsEach() {
        long seed = 20_260_101;
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 500; round++) {
            long[] starts = new long[random.nextInt(1, 20)];
            for (int i = 1; i < starts.length; i++) {
                int blocks = random.nextInt(4);
                starts[i] = starts[i - 1] + (blocks == 3 ? random.nextInt(40_000) : blocks);
            }
            AdasumPartition shares = new AdasumPartition(starts, random.nextInt(1, 9));
            check(shares, starts, "seed " + seed + ", round " + round);
        }
    }

    private static void check(AdasumPartition shares, long[] starts, String name) {
        long next = 0;
        boolean cut = false;
        for (int share = 0; share < shares.count(); share++) {
            assertThat(shares.start(share)).as(name).isEqualTo(next);
            long inside = 0;
            boolean[] sides = new boolean[2];
            for (Piece piece : shares.pieces(share)) {
                assertThat(piece.start()).as(name).isEqualTo(inside);
                assertThat((next + inside - starts[piece.tensor()]) % BLOCK).as(name).isZero();
                inside += piece.count();
                if (piece.split()) {
                    cut = true;
                    int side = shares.side(share, piece.tensor());
                    assertThat(sides[side]).as(name).isFalse();
                    sides[side] = true;
                }
            }
            assertThat(inside).as(name).isEqualTo(shares.size(share));
            next += inside;
        }
        assertThat(next).as(name).isEqualTo(starts[starts.length - 1]);
        assertThat(shares.hasSplitTensors()).as(name).isEqualTo(cut);
    }
}
