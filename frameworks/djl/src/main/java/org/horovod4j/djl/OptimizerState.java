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

/// What an optimizer has learnt so far, by names that mean the same on every rank and in every run.
///
/// DJL keys momentum, means and variances by parameter ids, which each process makes anew, and by
/// device. Here they are known by the name of the slot and the key of `block.getParameters()`, as
/// in `means/01Linear_weight`. A view: it shows what the optimizer has at the moment of the call.
/// What was learnt of parameters that are frozen meanwhile is part of it.
///
/// All optimizers of DJL are understood, alone or inside a distributed one, and others that keep
/// their state in the same way.
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

    /// The state of an optimizer that trains `block`; of a distributed one, of the optimizer
    /// inside.
    ///
    /// @throws org.horovod4j.ConfigurationException when this kind of optimizer is not understood
    public static OptimizerState of(Optimizer optimizer, Block block) {
        return of(optimizer, block, name -> true);
    }

    /// The state that an optimizer has of some parameters of `block`, be they frozen meanwhile.
    ///
    /// @param which by name; parameters that each rank keeps for itself are left out
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

    /// The arrays that the optimizer has, by slot and parameter; none before its first update.
    public Map<String, NDArray> arrays() {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        forEachSlotEntry(
                (name, slotEntry) -> slotEntry.array().ifPresent(array -> arrays.put(name, array)));
        return arrays;
    }

    /// How many times the parameters have been updated.
    public int updates() {
        return fields.updates();
    }

    /// The numbers of the optimizer and of its learning-rate tracker, by the names of their fields,
    /// as in `momentum` and `learningRateTracker.value`.
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

    /// Why arrays of these forms cannot be the state of this optimizer; empty when they can.
    public List<String> mismatches(List<TensorSpec> forms) {
        List<String> complaints = new ArrayList<>();
        for (TensorSpec form : forms) {
            int slash = form.name().indexOf('/');
            String slot = form.name().substring(0, Math.max(slash, 0));
            String parameter = form.name().substring(slash + 1);
            if (!fields.slots().containsKey(slot)) {
                complaints.add(
                        "%s has no '%s', of which there is one for %s"
                                .formatted(optimizerName, slot, parameter));
            } else if (!parameters.containsKey(parameter)) {
                complaints.add(
                        "there is '%s', but no parameter '%s'".formatted(form.name(), parameter));
            }
        }
        return complaints;
    }

    /// Gives the optimizer these counts, and arrays of these forms and no others, whatever it had.
    /// Those that it had in the same form are kept, new ones hold zeros.
    ///
    /// @param forms without [#mismatches]
    /// @return the arrays by name, for the caller to fill in
    public Map<String, NDArray> reallocate(Counts counts, List<TensorSpec> forms) {
        setCounts(counts);
        Map<String, TensorSpec> byName = new HashMap<>();
        forms.forEach(form -> byName.put(form.name(), form));
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

    /// Overwrites state and settings with those of `rootRank`; ranks without state get it, and lose
    /// what the root rank does not have. All ranks call this.
    ///
    /// Settings are the numbers of the optimizer (momentum, weight decay) and of learning-rate
    /// trackers that keep them in fields, as DJL's do.
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
                    "trains with %s, the root rank with %s"
                            .formatted(optimizerName, root.optimizerName));
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

    /// How often parameters were updated, which learning-rate trackers and bias corrections go by.
    ///
    /// @param updates of the parameter that was updated most often
    /// @param byParameter by name; parameters that were never updated are missing
    public record Counts(int updates, Map<String, Integer> byParameter) {}

    /// What the root rank tells the others.
    private record RootState(
            String optimizerName,
            Counts counts,
            Map<String, Double> settings,
            List<TensorSpec> specs) {}

    /// Where a slot keeps the array of one parameter.
    private record SlotEntry(Map<String, Map<Device, NDArray>> byId, Parameter parameter) {
        /// Copies on several devices are equal; so any will do.
        Optional<NDArray> array() {
            Map<Device, NDArray> byDevice = byId.get(parameter.getId());
            return byDevice == null ? Optional.empty() : byDevice.values().stream().findFirst();
        }

        /// Leaves one array, on the parameter's device, or none. DJL copies it to other devices
        /// when it needs it there.
        void reallocate(@Nullable TensorSpec form) {
            Device device = parameter.getArray().getDevice();
            @Nullable NDArray kept = null;
            @Nullable Map<Device, NDArray> former = byId.remove(parameter.getId());
            for (NDArray array : former == null ? List.<NDArray>of() : former.values()) {
                if (form != null
                        && array.getDevice().equals(device)
                        && ArraySpecs.matches(form, array)) {
                    kept = array;
                } else {
                    array.close();
                }
            }
            if (form != null) {
                Map<Device, NDArray> byDevice = new ConcurrentHashMap<>();
                byDevice.put(device, kept == null ? zeros(form, device) : kept);
                byId.put(parameter.getId(), byDevice);
            }
        }

        private NDArray zeros(TensorSpec form, Device device) {
            NDArray zeros =
                    parameter
                            .getArray()
                            .getManager()
                            .zeros(
                                    ArraySpecs.shape(form),
                                    DataTypes.djlType(form.dataType()),
                                    device);
            // As DJL does: the optimizer's arrays outlive the trainer's.
            zeros.detach();
            return zeros;
        }
    }
}
