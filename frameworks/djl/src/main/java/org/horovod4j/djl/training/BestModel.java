package org.horovod4j.djl.training;

import ai.djl.Model;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/// The model with the best figure so far, as `Model.save` writes it: for inference, by plain DJL.
final class BestModel {
    private final String monitor;
    private final Better better;
    private OptionalDouble best = OptionalDouble.empty();

    BestModel(String monitor, Better better) {
        this.monitor = monitor;
        this.better = better;
    }

    OptionalDouble best() {
        return best;
    }

    void setBest(OptionalDouble value) {
        best = value;
    }

    /// Whether this figure is better than any before, which it then becomes. One that is no number
    /// is not.
    boolean improves(Map<String, Float> figures) {
        Float figure = figures.get(monitor);
        if (figure == null) {
            throw new IllegalStateException(
                    "there is no figure '%s' to choose the best model by; there are %s"
                            .formatted(monitor, figures.keySet().stream().sorted().toList()));
        }
        if (figure.isNaN() || (best.isPresent() && !isBetter(figure, best.getAsDouble()))) {
            return false;
        }
        best = OptionalDouble.of(figure);
        return true;
    }

    private boolean isBetter(double figure, double than) {
        boolean larger =
                switch (better) {
                    case SMALLER -> false;
                    case LARGER -> true;
                    case AUTO -> monitor.toLowerCase(Locale.ROOT).contains("acc");
                };
        return larger ? figure > than : figure < than;
    }

    /// Replaces the model in the folder; a reader finds the one before or this one, whole.
    static void save(Model model, Path folder) throws IOException {
        Files.createDirectories(folder);
        String partial = ".partial";
        // of a process that died while saving: a file under another number would be moved too
        for (Path left : written(folder, partial)) {
            Files.delete(left);
        }
        model.save(folder, partial);
        for (Path file : written(folder, partial)) {
            Files.move(
                    file,
                    folder.resolve(model.getName() + "-0000.params"),
                    StandardCopyOption.ATOMIC_MOVE);
        }
    }

    private static List<Path> written(Path folder, String name) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, name + "-*.params")) {
            List<Path> all = new ArrayList<>();
            files.forEach(all::add);
            return all;
        }
    }
}
