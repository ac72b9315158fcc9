package org.horovod4j.djl.training;

import ai.djl.Model;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;

import org.horovod4j.checkpoint.BestMetric;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/// The model with the best metric so far, as `Model.save` writes it, for inference with DJL alone.
final class BestModel {
    private BestModel() {}

    /// Rejects a metric that training will not have.
    ///
    /// @throws org.horovod4j.ConfigurationException when no evaluator of the trainer has it
    static void check(BestMetric metric, Trainer trainer) {
        List<String> known = new ArrayList<>(List.of("train_loss", "validate_loss"));
        for (Evaluator evaluator : trainer.getEvaluators()) {
            known.add("train_" + evaluator.getName());
            known.add("validate_" + evaluator.getName());
        }
        metric.check(known);
    }

    /// Replaces the model in the folder atomically: a reader finds the previous one or this one.
    static void save(Model model, Path folder) throws IOException {
        Files.createDirectories(folder);
        String partial = ".partial";
        // files of a process that ended while saving; the move below would take them too
        for (Path left : filesNamed(folder, partial)) {
            Files.delete(left);
        }
        model.save(folder, partial);
        for (Path file : filesNamed(folder, partial)) {
            Files.move(
                    file,
                    folder.resolve(model.getName() + "-0000.params"),
                    StandardCopyOption.ATOMIC_MOVE);
        }
    }

    private static List<Path> filesNamed(Path folder, String name) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, name + "-*.params")) {
            List<Path> all = new ArrayList<>();
            files.forEach(all::add);
            return all;
        }
    }
}
