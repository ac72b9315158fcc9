package org.horovod4j.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.training.RankConsistency;
import org.horovod4j.training.TensorSpec;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/// The state of an optimizer by names that are the same on every rank and in every run.
///
/// DJL stores momentum, means and variances by parameter id, which differs between processes, and by
/// device. Here their name is that of the slot and the key of `block.getParameters()`, as in
/// `means/01Linear_weight`. This is a view of the current state of the optimizer. It includes the state
/// of frozen parameters.
///
/// It supports all optimizers of DJL, alone or inside a distributed one, and others that keep their
/// state in the same way.
public final class OptimizerState {
    private static final String ACTION = "broadcastOptimizerState";

    private final String optimizerName;
    private final OptimizerFields fields;
    private final Map<String, Parameter> parameters;

    private OptimizerState(
            String optimizerName, OptimizerFields fields, Map<String, Parameter> parameters) {
        this.optimizerName = optimizerName;
        this.fields = fields;
        this.parameters = parameters;
    }

    /// The state of an optimizer that trains `block`, or of the optimizer inside a distributed one.
    ///
    /// @throws org.horovod4j.ConfigurationException when this kind of optimizer is not supported
    public static OptimizerState of(Optimizer optimizer, Block block) {
        return of(optimizer, block, name -> true);
    }

    /// The state of an optimizer for some parameters of `block`, frozen or not.
    ///
    /// @param which parameters, by name
    public static OptimizerState of(Optimizer optimizer, Block block, Predicate<String> which) {
        Optimizer inner =
                optimizer instanceof DistributedOptimizer distributed
                        ? distributed.wrapped()
                        : optimizer;
        Map<String, Parameter> parameters = new LinkedHashMap<>();
        block.getParameters().stream()
                .filter(named -> which.test(named.getKey()))
                .forEach(named -> parameters.put(named.getKey(), named.getValue()));
        return new OptimizerState(
                inner.getClass().getName(), new OptimizerFields(inner), parameters);
    }

    /// The arrays of the optimizer, by slot and parameter; empty before its first update.
    public Map<String, NDArray> arrays() {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        forEachSlotEntry(
                (name, slotEntry) -> slotEntry.array().ifPresent(array -> arrays.put(name, array)));
        return arrays;
    }

    /// The number of updates.
    public int updates() {
        return fields.updates();
    }

    /// The numeric settings of the optimizer and of its learning-rate tracker, by field name, as in
    /// `momentum` and `learningRateTracker.value`.
    public Map<String, Double> settings() {
        Map<String, Double> settings = new LinkedHashMap<>();
        fields.settings().forEach((name, setting) -> settings.put(name, setting.value()));
        return settings;
    }

    /// A setting, by its name in [#settings].
    public double setting(String name) {
        return requireSetting(name).value();
    }

    /// Changes a setting, by its name in [#settings].
    public void set(String name, double value) {
        requireSetting(name).set(value);
    }

    private OptimizerFields.Setting requireSetting(String name) {
        OptimizerFields.@Nullable Setting setting = fields.settings().get(name);
        if (setting == null) {
            throw new IllegalArgumentException(
                    "%s has no setting '%s'; it has %s"
                            .formatted(optimizerName, name, fields.settings().keySet()));
        }
        return setting;
    }

    public Counts counts() {
        Map<String, Integer> own = fields.updateCounts();
        Map<String, Integer> byParameter = new LinkedHashMap<>();
        parameters.forEach(
                (name, parameter) -> {
                    Integer count = own.get(parameter.getId());
                    if (count != null) {
                        byParameter.put(name, count);
                    }
                });
        return new Counts(updates(), byParameter);
    }

    /// Why tensors of these types and shapes cannot be the state of this optimizer; empty if they can.
    public List<String> mismatches(List<TensorSpec> specs) {
        List<String> problems = new ArrayList<>();
        for (TensorSpec spec : specs) {
            int slash = spec.name().indexOf('/');
            String slot = spec.name().substring(0, Math.max(slash, 0));
            String parameter = spec.name().substring(slash + 1);
            if (!fields.slots().containsKey(slot)) {
                problems.add(
                        "%s has no '%s', but the state has one for %s"
                                .formatted(optimizerName, slot, parameter));
            } else if (!parameters.containsKey(parameter)) {
                problems.add(
                        "the state has '%s', but there is no parameter '%s'"
                                .formatted(spec.name(), parameter));
            }
        }
        return problems;
    }

    /// Sets the counts, and makes the optimizer have exactly the arrays of `specs`. Existing arrays of
    /// the same type and shape are kept; new ones are zero.
    ///
    /// @param specs without [#mismatches]
    /// @return the arrays by name, for the caller to fill
    public Map<String, NDArray> reallocate(Counts counts, List<TensorSpec> specs) {
        setCounts(counts);
        Map<String, TensorSpec> byName = new HashMap<>();
        specs.forEach(spec -> byName.put(spec.name(), spec));
        forEachSlotEntry((name, slotEntry) -> slotEntry.reallocate(byName.get(name)));
        return arrays();
    }

    private void setCounts(Counts counts) {
        fields.setUpdates(counts.updates());
        Map<String, Integer> own = fields.updateCounts();
        parameters.forEach(
                (name, parameter) -> {
                    Integer count = counts.byParameter().get(name);
                    if (count == null) {
                        own.remove(parameter.getId());
                    } else {
                        own.put(parameter.getId(), count);
                    }
                });
    }

    /// Overwrites state and settings with those of `rootRank`: afterwards each rank has exactly the
    /// arrays of the root rank. All ranks call this.
    ///
    /// Settings are the numbers of the optimizer (momentum, weight decay) and of learning-rate
    /// trackers with fields, such as those of DJL.
    ///
    /// @throws org.horovod4j.MismatchException on all ranks, when a rank has another kind of
    ///     optimizer or other parameters
    public void broadcast(Communicator communicator, int rootRank) {
        RootState rootState =
                communicator.broadcastObject(ACTION + ".forms", rootState(), rootRank);
        RankConsistency.check(
                communicator,
                ACTION,
                mismatches(rootState),
                "Use the same optimizer and the same network on every rank.");
        rootState.settings.forEach(this::set);
        ArrayBroadcast.run(
                communicator,
                "optimizer.",
                reallocate(rootState.counts, rootState.specs),
                rootRank);
    }

    private List<String> mismatches(RootState root) {
        if (!root.optimizerName.equals(optimizerName)) {
            return List.of(
                    "uses %s, the root rank uses %s".formatted(optimizerName, root.optimizerName));
        }
        if (!root.settings.keySet().equals(fields.settings().keySet())) {
            return List.of(
                    "has the settings %s, the root rank %s"
                            .formatted(fields.settings().keySet(), root.settings.keySet()));
        }
        return mismatches(root.specs);
    }

    private RootState rootState() {
        return new RootState(optimizerName, counts(), settings(), ArraySpecs.ofAll(arrays()));
    }

    private void forEachSlotEntry(BiConsumer<String, SlotEntry> action) {
        fields.slots()
                .forEach(
                        (slot, byId) ->
                                parameters.forEach(
                                        (name, parameter) ->
                                                action.accept(
                                                        slot + "/" + name,
                                                        new SlotEntry(byId, parameter))));
    }

    /// The numbers of updates, which learning-rate trackers and bias corrections use.
    ///
    /// @param updates the maximum over all parameters
    /// @param byParameter by name; without parameters that were never updated
    public record Counts(int updates, Map<String, Integer> byParameter) {}

    /// What the root rank broadcasts.
    private record RootState(
            String optimizerName,
            Counts counts,
            Map<String, Double> settings,
            List<TensorSpec> specs) {}

    /// The place of one parameter's array in a slot.
    private record SlotEntry(Map<String, Map<Device, NDArray>> byId, Parameter parameter) {
        /// Copies on several devices are equal; any of them is returned.
        Optional<NDArray> array() {
            Map<Device, NDArray> byDevice = byId.get(parameter.getId());
            return byDevice == null ? Optional.empty() : byDevice.values().stream().findFirst();
        }

        /// Keeps or creates one array on the parameter's device, or removes it. DJL copies it to other
        /// devices when needed.
        void reallocate(@Nullable TensorSpec spec) {
            Device device = parameter.getArray().getDevice();
            @Nullable NDArray kept = null;
            @Nullable Map<Device, NDArray> former = byId.remove(parameter.getId());
            for (NDArray array : former == null ? List.<NDArray>of() : former.values()) {
                if (spec != null
                        && array.getDevice().equals(device)
                        && ArraySpecs.matches(spec, array)) {
                    kept = array;
                } else {
                    array.close();
                }
            }
            if (spec != null) {
                Map<Device, NDArray> byDevice = new ConcurrentHashMap<>();
                byDevice.put(device, kept == null ? zeros(spec, device) : kept);
                byId.put(parameter.getId(), byDevice);
            }
        }

        private NDArray zeros(TensorSpec spec, Device device) {
            NDArray zeros =
                    parameter
                            .getArray()
                            .getManager()
                            .zeros(
                                    ArraySpecs.shape(spec),
                                    DataTypes.djlType(spec.dataType()),
                                    device);
            // as DJL does: the arrays of an optimizer outlive the trainer
            zeros.detach();
            return zeros;
        }
    }
}
