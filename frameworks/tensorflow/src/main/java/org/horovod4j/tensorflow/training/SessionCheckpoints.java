package org.horovod4j.tensorflow.training;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.checkpoint.CheckpointFolder;
import org.tensorflow.Result;
import org.tensorflow.Session;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/// The checkpoints of a training session, on rank 0. All ranks call its methods.
final class SessionCheckpoints {
    static final String STEP = "step";

    private final CheckpointFolder folder;
    private final int saveEvery;
    private final VariableValues variables;
    private int savedStep;

    /// @param kept the number of newest checkpoints that are kept
    /// @param saveEvery the number of steps between checkpoints
    SessionCheckpoints(Path path, int kept, int saveEvery, VariableValues variables) {
        this.folder = new CheckpointFolder(path, kept, CheckpointFolder.Unit.STEP);
        this.saveEvery = saveEvery;
        this.variables = variables;
    }

    /// Overwrites the variables of rank 0 with those of the newest checkpoint.
    ///
    /// @return its step; 0 without a checkpoint
    /// @throws org.horovod4j.checkpoint.CheckpointException on all ranks, when rank 0 cannot use the
    ///     folder, or the checkpoint is of another network
    int restoreNewest(Communicator communicator, Session session) {
        Map<String, String> metadata =
                folder.onRankZero(
                        communicator,
                        "resume training",
                        () -> {
                            folder.prepare();
                            return variables.restoreNewest(session, folder, false);
                        });
        savedStep = Integer.parseInt(metadata.getOrDefault(STEP, "0"));
        return savedStep;
    }

    boolean isDue(int step) {
        return step % saveEvery == 0;
    }

    boolean isSaved(int step) {
        return savedStep == step;
    }

    /// Writes a checkpoint.
    ///
    /// @throws org.horovod4j.checkpoint.CheckpointException on all ranks, when rank 0 cannot write it
    void save(Communicator communicator, Session session, int step) {
        Map<String, String> _ =
                folder.onRankZero(
                        communicator,
                        "save the checkpoint of step " + step,
                        () -> {
                            write(session, step, communicator.size());
                            return Map.of();
                        });
        savedStep = step;
    }

    private void write(Session session, int step, int ranks) throws IOException {
        try (Result values = variables.fetch(session)) {
            Map<String, Supplier<Tensor>> tensors = new LinkedHashMap<>();
            variables.view(values).forEach((name, tensor) -> tensors.put(name, () -> tensor));
            folder.write(
                    step,
                    Map.of(STEP, String.valueOf(step), "ranks", String.valueOf(ranks)),
                    tensors);
        }
    }

    /// What a message about a training that ended early adds.
    String note() {
        return savedStep == 0
                ? "; there is no checkpoint"
                : "; the newest checkpoint is that of step " + savedStep;
    }
}
