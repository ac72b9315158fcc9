package org.horovod4j.djl.training;

import ai.djl.training.evaluator.Evaluator;

import org.horovod4j.ConfigurationException;
import org.horovod4j.training.MetricTotals;
import org.jspecify.annotations.Nullable;

import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/// Reads and writes the totals of DJL's evaluators, such as the number of correct predictions, by
/// reflection.
///
/// An evaluator of DJL reports the ratio of two totals, each in a map from the name of an accumulator
/// to a number. Evaluators inside evaluators are found too.
final class EvaluatorTotals {
    private final List<Map<String, Number>> maps;

    private EvaluatorTotals(List<Map<String, Number>> maps) {
        this.maps = maps;
    }

    /// @throws ConfigurationException when an evaluator keeps its totals in another way
    static EvaluatorTotals of(List<Evaluator> evaluators) {
        List<Map<String, Number>> maps = new ArrayList<>();
        evaluators.forEach(evaluator -> collect(evaluator, maps));
        return new EvaluatorTotals(maps);
    }

    private static void collect(Evaluator evaluator, List<Map<String, Number>> maps) {
        int before = maps.size();
        for (Class<?> type = evaluator.getClass();
                type != null && Evaluator.class.isAssignableFrom(type);
                type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    collect(evaluator, field, maps);
                }
            }
        }
        // One map is DJL's count of instances, which every evaluator inherits.
        if (maps.size() - before < 2) {
            throw new ConfigurationException(
                    """
                    MetricAverage cannot average evaluator '%s' (%s) over the ranks: it does not keep its \
                    totals in maps from accumulator to number, as DJL's evaluators do. Let it keep them in a \
                    Map<String, Long>, Map<String, Float> or Map<String, Double>."""
                            .formatted(evaluator.getName(), evaluator.getClass().getName()));
        }
    }

    @SuppressWarnings("unchecked") // the type arguments have been checked
    private static void collect(Evaluator owner, Field field, List<Map<String, Number>> maps) {
        if (isMapOfNumbers(field.getGenericType())) {
            if (value(owner, field) instanceof Map<?, ?> map) {
                maps.add((Map<String, Number>) map);
            }
        } else if (Evaluator.class.isAssignableFrom(field.getType())) {
            if (value(owner, field) instanceof Evaluator inner) {
                collect(inner, maps);
            }
        } else if (Collection.class.isAssignableFrom(field.getType())
                && value(owner, field) instanceof Collection<?> inner) {
            for (Object each : inner) {
                if (each instanceof Evaluator evaluator) {
                    collect(evaluator, maps);
                }
            }
        }
    }

    private static boolean isMapOfNumbers(Type type) {
        return type instanceof ParameterizedType map
                && map.getRawType() == Map.class
                && map.getActualTypeArguments()[0] == String.class
                && map.getActualTypeArguments()[1] instanceof Class<?> number
                && List.of(Long.class, Integer.class, Float.class, Double.class).contains(number);
    }

    private static @Nullable Object value(Evaluator owner, Field field) {
        try {
            field.setAccessible(true);
            return field.get(owner);
        } catch (InaccessibleObjectException e) {
            throw new ConfigurationException(
                    """
                    the totals of evaluators are in private fields, which module %s does not open. Start Java \
                    with --add-opens %s/%s=%s."""
                            .formatted(
                                    field.getDeclaringClass().getModule().getName(),
                                    field.getDeclaringClass().getModule().getName(),
                                    field.getDeclaringClass().getPackageName(),
                                    EvaluatorTotals.class.getModule().isNamed()
                                            ? EvaluatorTotals.class.getModule().getName()
                                            : "ALL-UNNAMED"),
                    e);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("%s was made accessible".formatted(field), e);
        }
    }

    /// The totals of these accumulators; 0 for those that an evaluator does not have.
    MetricTotals read(List<String> accumulators) {
        MetricTotals totals = new MetricTotals();
        for (int i = 0; i < maps.size(); i++) {
            for (String accumulator : accumulators) {
                Number value = maps.get(i).get(accumulator);
                totals.add(name(i, accumulator), value == null ? 0 : value.doubleValue());
            }
        }
        return totals;
    }

    /// Replaces the totals that [#read] has returned.
    void write(List<String> accumulators, MetricTotals totals) {
        for (int i = 0; i < maps.size(); i++) {
            for (String accumulator : accumulators) {
                double value = totals.get(name(i, accumulator));
                maps.get(i).computeIfPresent(accumulator, (_, old) -> ofSameType(old, value));
            }
        }
    }

    private static String name(int map, String accumulator) {
        return map + "/" + accumulator;
    }

    private static Number ofSameType(Number old, double value) {
        return switch (old) {
            case Long _ -> Math.round(value);
            case Integer _ -> Math.toIntExact(Math.round(value));
            case Float _ -> (float) value;
            default -> value;
        };
    }
}
