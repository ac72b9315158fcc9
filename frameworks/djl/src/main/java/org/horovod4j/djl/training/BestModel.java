package org.horovod4j.djl.training;

import ai.djl.Model;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.SpellingSuggestion;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/// The model with the best figure so far, as `Model.save` writes it: for inference, by plain DJL.
final class BestModel {
    private final String monitor;
    private final MonitorMode mode;
    private OptionalDouble best = OptionalDouble.empty();

    BestModel(String monitor, MonitorMode monitorMode) {
        this.monitor = monitor;
        this.mode = monitorMode;
    }

    OptionalDouble best() {
        return best;
    }

    void setBest(OptionalDouble value) {
        best = value;
    }

    /// Refuses a figure that training will not have, before it costs an epoch.
    ///
    /// @throws ConfigurationException when no evaluator of the trainer gives it
    void check(Trainer trainer) {
        List<String> known = new ArrayList<>(List.of("train_loss", "validate_loss"));
        for (Evaluator evaluator : trainer.getEvaluators()) {
            known.add("train_" + evaluator.getName());
            known.add("validate_" + evaluator.getName());
        }
        if (!known.contains(monitor)) {
            throw unknownMetric(known);
        }
    }

    private ConfigurationException unknownMetric(Collection<String> known) {
        return new ConfigurationException(
                "there is no figure '%s' to choose the best model by; there are %s.%s"
                        .formatted(
                                monitor,
                                known.stream().sorted().toList(),
                                SpellingSuggestion.nearest(monitor, known, 0)
                                        .map(" Did you mean '%s'?"::formatted)
                                        .orElse("")));
    }

    /// Whether this figure is better than any before, which it then becomes. One that is no number
    /// is not.
    boolean updateIfBetter(Map<String, Float> figures) {
        Float figure = figures.get(monitor);
        if (figure == null) {
            throw unknownMetric(figures.keySet());
        }
        if (figure.isNaN() || (best.isPresent() && !isBetter(figure, best.getAsDouble()))) {
            return false;
        }
        best = OptionalDouble.of(figure);
        return true;
    }

    private boolean isBetter(double figure, double than) {
        boolean larger =
                switch (mode) {
                    case MIN -> false;
                    case MAX -> true;
                    case AUTO -> monitor.toLowerCase(Locale.ROOT).contains("acc");
                };
        return larger ? figure > than : figure < than;
    }

    /// Replaces the model in the folder; a reader finds the one before or this one, whole.
    static void save(Model model, Path folder) throws IOException {
        Files.createDirectories(folder);
        String partial = ".partial";
        // of a process that died while saving: a file under another number would be moved too
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
