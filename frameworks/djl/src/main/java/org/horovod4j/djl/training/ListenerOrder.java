package org.horovod4j.djl.training;

import ai.djl.training.Trainer;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener;

import org.horovod4j.ConfigurationException;

import java.util.ArrayList;
import java.util.List;

/// Checks the position of a listener relative to DJL's `EvaluatorTrainingListener`, which computes
/// metrics from the totals of evaluators at the end of an epoch and resets the totals.
final class ListenerOrder {
    private ListenerOrder() {}

    /// For listeners that change the totals.
    static void requireBeforeEvaluators(Trainer trainer, TrainingListener listener) {
        List<TrainingListener> all = listeners(trainer);
        if (requireEvaluators(listener, all) < all.indexOf(listener)) {
            throw misplaced(listener, all, "before", "Add it before TrainingListener.Defaults.");
        }
    }

    /// For listeners that read the metrics.
    static void requireAfterEvaluators(Trainer trainer, TrainingListener listener) {
        List<TrainingListener> all = listeners(trainer);
        if (requireEvaluators(listener, all) > all.indexOf(listener)) {
            throw misplaced(listener, all, "after", "Add it after TrainingListener.Defaults.");
        }
    }

    /// Whether DJL computes metrics.
    static boolean hasEvaluators(Trainer trainer) {
        return indexOfEvaluators(listeners(trainer)) >= 0;
    }

    private static int requireEvaluators(TrainingListener listener, List<TrainingListener> all) {
        int evaluators = indexOfEvaluators(all);
        if (evaluators < 0) {
            throw new ConfigurationException(
                    """
                    %s needs the metrics of DJL's EvaluatorTrainingListener, which is missing; the listeners are %s. \
                    Add TrainingListener.Defaults, which contain it."""
                            .formatted(name(listener), names(all)));
        }
        return evaluators;
    }

    /// The last one, if there are several.
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
        return all.stream().map(ListenerOrder::name).toList();
    }

    /// An anonymous class has no simple name.
    private static String name(TrainingListener listener) {
        Class<?> type = listener.getClass();
        return type.isAnonymousClass()
                ? type.getName().substring(type.getPackageName().length() + 1)
                : type.getSimpleName();
    }

    private static ConfigurationException misplaced(
            TrainingListener listener, List<TrainingListener> all, String where, String remedy) {
        return new ConfigurationException(
                "%s must come %s DJL's EvaluatorTrainingListener; the listeners are %s. %s"
                        .formatted(name(listener), where, names(all), remedy));
    }
}
