package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.plan.Slot;
import org.junit.jupiter.api.Test;

import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.SequencedMap;

class GenerationTableTest {
    @Test
    void tableHasOneLinePerRank() {
        SequencedMap<Worker, Slot> places = new LinkedHashMap<>();
        places.put(new Worker(1, "gpu1", 1), new Slot("gpu1", 0, 2, 0, 1, 0, 2));
        places.put(new Worker(12, "gpu2", 0), new Slot("gpu2", 1, 2, 0, 1, 1, 2));
        assertThat(
                        GenerationTable.of(
                                3,
                                places,
                                worker ->
                                        worker.number() == 1
                                                ? Optional.of(14922L)
                                                : Optional.empty()))
                .isEqualToNormalizingNewlines(
                        """
                        the places of generation 3:
                          rank  worker    local    cross   process  host
                             0       1   0 of 1   0 of 2     14922  gpu1
                             1      12   0 of 1   1 of 2         ?  gpu2""");
    }
}
