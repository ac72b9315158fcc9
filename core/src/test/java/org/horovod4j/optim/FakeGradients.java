package org.horovod4j.optim;

import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/// Gradients in arrays. A backward pass is an addition.
final class FakeGradients implements Gradients {
    private final List<String> names;
    private final Map<String, float[]> gradients = new LinkedHashMap<>();
    private final Map<String, SparseTensor> sparse = new LinkedHashMap<>();
    private final Set<String> frozen = new HashSet<>();
    private final Map<String, float[]> values = new LinkedHashMap<>();
    private boolean canAcquireDuringBackward = true;

    /// The acquired gradients, in order.
    final List<String> acquired = new ArrayList<>();

    /// The last reduced gradients.
    private final Map<String, Gradient> results = new LinkedHashMap<>();

    FakeGradients(int length, String... names) {
        this.names = List.of(names);
        for (String name : names) {
            gradients.put(name, new float[length]);
        }
    }

    float[] gradient(String name) {
        return Objects.requireNonNull(gradients.get(name));
    }

    Gradient reduced(String name) {
        return Objects.requireNonNull(results.get(name));
    }

    /// Adds `value` to each element of the gradient, as a backward pass does.
    void add(String name, float value) {
        float[] gradient = gradient(name);
        for (int i = 0; i < gradient.length; i++) {
            gradient[i] += value;
        }
    }

    void add(String name, SparseTensor rows) {
        sparse.put(name, rows);
    }

    /// Sets gradients to zero, as an optimizer does at the end of a step.
    void clear() {
        gradients.replaceAll((_, gradient) -> new float[gradient.length]);
        sparse.clear();
        acquired.clear();
    }

    /// Sets the value that all ranks should have.
    void setValue(String name, float[] value) {
        values.put(name, value);
    }

    @Override
    public Optional<Tensor> value(int parameter) {
        return Optional.ofNullable(values.get(names.get(parameter))).map(Tensor::of);
    }

    void freeze(String name, boolean yes) {
        if (yes) {
            frozen.add(name);
        } else {
            frozen.remove(name);
        }
    }

    void allowAcquireDuringBackward(boolean yes) {
        canAcquireDuringBackward = yes;
    }

    @Override
    public boolean canAcquireDuringBackward() {
        return canAcquireDuringBackward;
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public boolean isTrainable(int parameter) {
        return !frozen.contains(names.get(parameter));
    }

    @Override
    public Gradient acquire(int parameter) {
        String name = names.get(parameter);
        acquired.add(name);
        SparseTensor rows = sparse.get(name);
        return rows == null
                ? new Gradient.Dense(Tensor.of(gradient(name)))
                : new Gradient.Sparse(rows);
    }

    @Override
    public void setReduced(int parameter, Gradient reduced) {
        results.put(names.get(parameter), reduced);
    }
}
