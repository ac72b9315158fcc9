package org.horovod4j.djl.training;

import ai.djl.training.Trainer;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener;

import org.horovod4j.ConfigurationException;

import java.util.ArrayList;
import java.util.List;

/// Checks where a listener stands beside DJL's `EvaluatorTrainingListener`, which at the end of an
/// epoch turns what evaluators have summed up into figures, and resets the sums.
final class ListenerOrder {
    private ListenerOrder() {}

    /// For listeners that change the sums.
    static void requireBeforeEvaluators(Trainer trainer, TrainingListener listener) {
        List<TrainingListener> all = listeners(trainer);
        if (requireEvaluators(listener, all) < all.indexOf(listener)) {
            throw misplaced(
                    listener,
                    all,
                    "before",
                    "Add it first, and TrainingListener.Defaults after it.");
        }
    }

    /// For listeners that read the figures.
    static void requireAfterEvaluators(Trainer trainer, TrainingListener listener) {
        List<TrainingListener> all = listeners(trainer);
        if (requireEvaluators(listener, all) > all.indexOf(listener)) {
            throw misplaced(
                    listener,
                    all,
                    "after",
                    "Add TrainingListener.Defaults first, and it after them.");
        }
    }

    /// Whether evaluators are summed up at all.
    static boolean hasEvaluators(Trainer trainer) {
        return indexOfEvaluators(listeners(trainer)) >= 0;
    }

    private static int requireEvaluators(TrainingListener listener, List<TrainingListener> all) {
        int evaluators = indexOfEvaluators(all);
        if (evaluators < 0) {
            throw new ConfigurationException(
                    """
                    %s works on figures that DJL's EvaluatorTrainingListener computes, and there is none; \
                    the listeners are %s. Add TrainingListener.Defaults, which contain it."""
                            .formatted(listener.getClass().getSimpleName(), names(all)));
        }
        return evaluators;
    }

    /// The last of them counts, should there be several.
    private static int indexOfEvaluators(List<TrainingListener> all) {
        for (int i = all.size() - 1; i >= 0; i--) {
            if (all.get(i) instanceof EvaluatorTrainingListener) {
                return i;
            }
        }
        return -1;
    }

    private static List<TrainingListener> listeners(Trainer trainer) {
        List<TrainingListener> all = new ArrayList<>();
        trainer.notifyListeners(all::add);
        return all;
    }

    private static List<String> names(List<TrainingListener> all) {
        return all.stream().map(each -> each.getClass().getSimpleName()).toList();
    }

    private static ConfigurationException misplaced(
            TrainingListener listener, List<TrainingListener> all, String where, String remedy) {
        return new ConfigurationException(
                "%s must come %s DJL's EvaluatorTrainingListener; the listeners are %s. %s"
                        .formatted(listener.getClass().getSimpleName(), where, names(all), remedy));
    }
}
