package org.horovod4j.runtime.device;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.DeviceSettings;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.text.RankList;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Which backend runs each collective on the devices of a process set.
///
/// Every rank makes the choice from what all ranks have published, so all choose the same. What the
/// options name comes first. Otherwise the backend with the highest preference runs the collective, of
/// those that every rank has and that can be used for these devices.
final class BackendChoice {
    private final List<DeviceBackendProvider> usable;
    private final Map<String, DeviceBackendProvider> named;

    /// What a rank publishes for the choice.
    ///
    /// @param place its device
    /// @param backends what is there, by the name of each backend that it has
    /// @param missing what is missing, by the name of each backend that it cannot use
    /// @param options its options that choose a backend, by variable
    record Offer(
            DevicePlace place,
            Map<String, String> backends,
            Map<String, String> missing,
            Map<String, String> options) {
        static Offer of(
                DevicePlace place, List<DeviceBackendProvider> providers, DeviceSettings settings) {
            return new Offer(
                    place,
                    described(providers, true),
                    described(providers, false),
                    settings.chosen());
        }

        private static Map<String, String> described(
                List<DeviceBackendProvider> providers, boolean available) {
            return providers.stream()
                    .filter(each -> each.isAvailable() == available)
                    .collect(
                            Collectors.toMap(
                                    DeviceBackendProvider::name, DeviceBackendProvider::describe));
        }
    }

    /// What the providers of this process publish, by the name of the backend.
    static Map<String, String> processInfo(List<DeviceBackendProvider> providers) {
        return providers.stream()
                .filter(each -> !each.processInfo().isEmpty())
                .collect(
                        Collectors.toMap(
                                DeviceBackendProvider::name, DeviceBackendProvider::processInfo));
    }

    /// The collectives, by the names of their options.
    private enum Capability {
        ALLREDUCE(Backend.SupportsAllreduce.class),
        ADASUM(Backend.SupportsAdasum.class),
        ALLGATHER(Backend.SupportsAllgather.class),
        BROADCAST(Backend.SupportsBroadcast.class),
        ALLTOALL(Backend.SupportsAlltoall.class),
        REDUCESCATTER(Backend.SupportsReducescatter.class);

        private final Class<? extends Backend> type;

        Capability(Class<? extends Backend> type) {
            this.type = type;
        }

        static Capability of(Request request) {
            return switch (request.collectiveKind()) {
                case ALLREDUCE -> request.op() == ReduceOp.ADASUM ? ADASUM : ALLREDUCE;
                case ALLGATHER -> ALLGATHER;
                case BROADCAST -> BROADCAST;
                case ALLTOALL -> ALLTOALL;
                case REDUCESCATTER -> REDUCESCATTER;
                case BARRIER -> throw new IllegalArgumentException("a barrier has no device");
            };
        }

        /// The option that names its backend. That of allreduce is for Adasum too.
        String variable() {
            return DeviceSettings.variableOf((this == ADASUM ? ALLREDUCE : this).name());
        }

        boolean reduces() {
            return this == ALLREDUCE || this == ADASUM || this == REDUCESCATTER;
        }

        boolean isIn(DeviceBackendProvider provider) {
            return type.isAssignableFrom(provider.backendType());
        }
    }

    private BackendChoice(
            List<DeviceBackendProvider> usable, Map<String, DeviceBackendProvider> named) {
        this.usable = usable;
        this.named = named;
    }

    /// Makes the choice.
    ///
    /// @param providers of this rank, those with the highest preference first
    /// @param offers of all ranks of the process set, by rank
    /// @throws ConfigurationException if options differ, or name what a rank cannot use; on all ranks
    static BackendChoice of(List<DeviceBackendProvider> providers, List<Offer> offers) {
        checkSameOptions(offers);
        List<DevicePlace> places = offers.stream().map(Offer::place).toList();
        DeviceSettings settings = new DeviceSettings(offers.getFirst().options);
        Map<String, DeviceBackendProvider> named = new LinkedHashMap<>();
        settings.chosen()
                .forEach(
                        (variable, name) ->
                                named.put(
                                        variable,
                                        required(variable, name, providers, offers, places)));
        List<DeviceBackendProvider> usable =
                providers.stream()
                        .filter(
                                each ->
                                        offers.stream()
                                                        .allMatch(
                                                                offer ->
                                                                        offer.backends.containsKey(
                                                                                each.name()))
                                                && each.unsupportedReason(places).isEmpty())
                        .toList();
        return new BackendChoice(usable, named);
    }

    private static void checkSameOptions(List<Offer> offers) {
        Map<String, Boolean> variables = new TreeMap<>();
        offers.forEach(offer -> offer.options.keySet().forEach(name -> variables.put(name, true)));
        for (String variable : variables.keySet()) {
            Map<String, List<Integer>> ranks =
                    byRank(offers, offer -> offer.options.getOrDefault(variable, "not set"));
            if (ranks.size() > 1) {
                throw new ConfigurationException(
                        """
                        %s differs between ranks
                        %s
                        Set the same value on every rank."""
                                .formatted(variable, table(ranks)));
            }
        }
    }

    private static DeviceBackendProvider required(
            String variable,
            String name,
            List<DeviceBackendProvider> providers,
            List<Offer> offers,
            List<DevicePlace> places) {
        Map<String, List<Integer>> lacking =
                byRank(
                        offers,
                        offer ->
                                offer.backends.containsKey(name)
                                        ? ""
                                        : offer.missing.getOrDefault(
                                                name, "no jar with it on the class path"));
        lacking.remove("");
        Optional<DeviceBackendProvider> found =
                providers.stream().filter(each -> each.name().equals(name)).findFirst();
        if (!lacking.isEmpty() || found.isEmpty()) {
            throw new ConfigurationException(
                    """
                    %s is %s, which some ranks cannot use
                    %s
                    There are: %s. Add what is missing, or name another backend."""
                            .formatted(
                                    variable,
                                    name,
                                    table(lacking),
                                    String.join(", ", offers.getFirst().backends.keySet())));
        }
        found.get()
                .unsupportedReason(places)
                .ifPresent(
                        reason -> {
                            throw new ConfigurationException(
                                    """
                                    %s is %s, which cannot be used for these devices: %s
                                    Name another backend, or none."""
                                            .formatted(variable, name, reason));
                        });
        return found.get();
    }

    private static Map<String, List<Integer>> byRank(
            List<Offer> offers, Function<Offer, String> value) {
        Map<String, List<Integer>> ranks = new LinkedHashMap<>();
        for (Offer offer : offers) {
            ranks.computeIfAbsent(value.apply(offer), _ -> new ArrayList<>())
                    .add(offer.place.jobRank());
        }
        return ranks;
    }

    private static String table(Map<String, List<Integer>> ranks) {
        return ranks.entrySet().stream()
                .map(
                        entry ->
                                "  %s on %s"
                                        .formatted(
                                                entry.getKey(), RankList.format(entry.getValue())))
                .collect(Collectors.joining("\n"));
    }

    /// The backend for an operation.
    ///
    /// @throws ConfigurationException if there is none, or the one that an option names for this
    ///     collective does not have it; on all ranks
    DeviceBackendProvider of(Request request) {
        Capability capability = Capability.of(request);
        String variable = capability.variable();
        DeviceBackendProvider ofCollective = named.get(variable);
        if (ofCollective != null) {
            if (!runs(ofCollective, capability, request.wireType(), request.op())) {
                throw new ConfigurationException(
                        """
                        %s: %s, which %s names, does not run %s of %s on a device
                        Name another backend, or none."""
                                .formatted(
                                        request,
                                        ofCollective.name(),
                                        variable,
                                        capability,
                                        request.wireType()));
            }
            return ofCollective;
        }
        DeviceBackendProvider ofAll = named.get(DeviceSettings.variableOf("OPERATIONS"));
        if (ofAll != null && runs(ofAll, capability, request.wireType(), request.op())) {
            return ofAll;
        }
        return usable.stream()
                .filter(each -> runs(each, capability, request.wireType(), request.op()))
                .findFirst()
                .orElseThrow(
                        () ->
                                new ConfigurationException(
                                        "%s: no backend runs %s of %s on %s"
                                                .formatted(
                                                        request,
                                                        capability,
                                                        request.wireType(),
                                                        request.device())));
    }

    private static boolean runs(
            DeviceBackendProvider provider, Capability capability, DataType dataType, ReduceOp op) {
        return capability.isIn(provider)
                && (!capability.reduces() || provider.reduces(dataType, op));
    }

    /// The backend of each collective for `float32`, for the log.
    String describe() {
        Map<String, List<String>> collectives = new LinkedHashMap<>();
        for (Capability capability : Capability.values()) {
            DeviceBackendProvider ofCollective =
                    named.getOrDefault(
                            capability.variable(),
                            named.get(DeviceSettings.variableOf("OPERATIONS")));
            String name =
                    Stream.concat(Optional.ofNullable(ofCollective).stream(), usable.stream())
                            .filter(capability::isIn)
                            .findFirst()
                            .map(each -> "%s (%s)".formatted(each.name(), each.describe()))
                            .orElse("no backend");
            collectives
                    .computeIfAbsent(name, _ -> new ArrayList<>())
                    .add(capability.name().toLowerCase(Locale.ROOT));
        }
        return collectives.entrySet().stream()
                .map(
                        entry ->
                                "%s by %s"
                                        .formatted(
                                                String.join(", ", entry.getValue()),
                                                entry.getKey()))
                .collect(Collectors.joining("; "));
    }
}
