package org.horovod4j.runtime.backend;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.collectives.staged.HierarchicalProvider;
import org.horovod4j.option.BackendOptions;
import org.horovod4j.option.BackendSettings;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.BackendProvider;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.HostCollectives;
import org.horovod4j.text.RankList;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Which backend runs each collective of a process set, on main memory or on the devices of its ranks.
///
/// Every rank makes the choice from what all ranks have published, so all choose the same. What the
/// options name comes first. Otherwise the backend with the highest preference runs the collective, of
/// those that every rank has and that can be used for these ranks.
public final class BackendChoice<P extends BackendProvider> {
    private static final String HIERARCHICAL = BackendOptions.HIERARCHICAL_ALLREDUCE.variable();

    private final List<DevicePlace> places;
    private final List<P> usable;
    private final Map<String, P> named;

    /// Why an option has no effect; empty if it has.
    private final String remark;

    /// What a rank publishes for the choice.
    ///
    /// @param place its device
    /// @param backends what is there, by the name of each backend that it has
    /// @param missing what is missing, by the name of each backend that it cannot use
    /// @param ambiguous the names that several backends have, with their classes; empty if there are none
    /// @param options its options that choose a backend, by variable
    public record Offer(
            DevicePlace place,
            Map<String, String> backends,
            Map<String, String> missing,
            String ambiguous,
            Map<String, String> options) {
        public static Offer of(
                DevicePlace place,
                List<? extends BackendProvider> providers,
                BackendSettings settings) {
            return new Offer(
                    place,
                    described(providers, true),
                    described(providers, false),
                    ambiguous(providers),
                    options(settings, place.device().kind()));
        }

        private static Map<String, String> options(BackendSettings settings, Device.Kind kind) {
            Map<String, String> options = new TreeMap<>(settings.chosen(kind));
            if (settings.hierarchicalAllreduce() && kind != Device.Kind.HOST) {
                options.put(HIERARCHICAL, "1");
            }
            return options;
        }

        private static Map<String, String> described(
                List<? extends BackendProvider> providers, boolean available) {
            return providers.stream()
                    .filter(each -> each.isAvailable() == available)
                    .collect(byName(BackendProvider::describe));
        }

        private static String ambiguous(List<? extends BackendProvider> providers) {
            Map<String, List<String>> classes = new TreeMap<>();
            for (BackendProvider each : providers) {
                if (!(each instanceof HierarchicalProvider)) { // named like the backend inside
                    classes.computeIfAbsent(each.name(), _ -> new ArrayList<>())
                            .add(each.getClass().getName());
                }
            }
            return classes.entrySet().stream()
                    .filter(entry -> entry.getValue().size() > 1)
                    .map(
                            entry ->
                                    "%s: %s"
                                            .formatted(
                                                    entry.getKey(),
                                                    String.join(", ", entry.getValue())))
                    .collect(Collectors.joining("; "));
        }
    }

    /// What the providers of this process publish, by the name of the backend.
    public static Map<String, String> processInfo(List<? extends BackendProvider> providers) {
        return providers.stream()
                .filter(each -> !each.processInfo().isEmpty())
                .collect(byName(BackendProvider::processInfo));
    }

    /// Takes the first of backends with one name: the ranks find that mistake together, later.
    private static Collector<BackendProvider, ?, Map<String, String>> byName(
            Function<BackendProvider, String> value) {
        return Collectors.toMap(BackendProvider::name, value, (first, _) -> first);
    }

    /// The collectives, by the names of their options.
    enum Capability {
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
        String variable(Device.Kind kind) {
            return BackendSettings.variableOf(kind, (this == ADASUM ? ALLREDUCE : this).name());
        }

        boolean reduces() {
            return this == ALLREDUCE || this == ADASUM || this == REDUCESCATTER;
        }

        boolean isIn(BackendProvider provider) {
            return type.isAssignableFrom(provider.backendType());
        }
    }

    private BackendChoice(
            List<DevicePlace> places, List<P> usable, Map<String, P> named, String remark) {
        this.places = places;
        this.usable = usable;
        this.named = named;
        this.remark = remark;
    }

    /// Makes the choice together with the other ranks of the process set.
    ///
    /// @param host exchanges what they publish
    /// @param mine what this rank publishes
    /// @param providers of this rank, those with the highest preference first
    /// @throws ConfigurationException if options differ, or name what a rank cannot use; on all ranks
    public static <P extends BackendProvider> BackendChoice<P> agree(
            HostCollectives host, Offer mine, List<P> providers) {
        ObjectCodec codec = new ObjectCodec(BackendChoice.class.getClassLoader());
        List<Offer> offers =
                host.allgather(codec.encode(mine)).stream()
                        .map(bytes -> (Offer) Objects.requireNonNull(codec.decode(bytes)))
                        .toList();
        try {
            return of(providers, offers);
        } catch (ConfigurationException e) {
            leaveTogether(host, e);
            throw e;
        }
    }

    /// All ranks find the same mistake. One that left at once would be a lost rank to those that still
    /// wait for the last of its bytes.
    private static void leaveTogether(HostCollectives host, ConfigurationException reason) {
        try {
            host.barrier();
        } catch (HorovodException e) {
            reason.addSuppressed(e); // another rank has left it first
        }
    }

    /// Makes the choice from what all ranks of the process set have published.
    static <P extends BackendProvider> BackendChoice<P> of(List<P> providers, List<Offer> offers) {
        checkNames(offers);
        checkSameOptions(offers);
        List<DevicePlace> places = offers.stream().map(Offer::place).toList();
        Map<String, String> options = new TreeMap<>(offers.getFirst().options);
        boolean isHierarchical = options.remove(HIERARCHICAL) != null;
        Map<String, P> named = new LinkedHashMap<>();
        options.forEach(
                (variable, name) ->
                        named.put(variable, required(variable, name, providers, offers, places)));
        List<P> usable =
                providers.stream()
                        .filter(
                                each ->
                                        isOnAllRanks(each, offers)
                                                && each.unsupportedReason(places).isEmpty())
                        .toList();
        return new BackendChoice<>(
                places,
                usable,
                named,
                isHierarchical && usable.stream().noneMatch(HierarchicalProvider.class::isInstance)
                        ? "; %s has no effect on GPUs: %s"
                                .formatted(HIERARCHICAL, whyNotHierarchical(providers, places))
                        : "");
    }

    private static String whyNotHierarchical(
            List<? extends BackendProvider> providers, List<DevicePlace> places) {
        return providers.stream()
                .filter(HierarchicalProvider.class::isInstance)
                .map(each -> each.unsupportedReason(places))
                .flatMap(Optional::stream)
                .findFirst()
                .orElse("no backend can be used inside a host");
    }

    private static boolean isOnAllRanks(BackendProvider provider, List<Offer> offers) {
        return offers.stream().allMatch(offer -> offer.backends.containsKey(provider.name()));
    }

    private static void checkNames(List<Offer> offers) {
        Map<String, List<Integer>> ambiguous = byRank(offers, Offer::ambiguous);
        ambiguous.remove("");
        if (!ambiguous.isEmpty()) {
            throw new ConfigurationException(
                    """
                    some ranks have several backends with one name
                    %s
                    Leave one of them on the class path."""
                            .formatted(table(ambiguous)));
        }
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

    private static <P extends BackendProvider> P required(
            String variable,
            String name,
            List<P> providers,
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
        Optional<P> found = providers.stream().filter(each -> each.name().equals(name)).findFirst();
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
                                    String.join(
                                            ", ",
                                            new TreeSet<>(offers.getFirst().backends.keySet()))));
        }
        found.get()
                .unsupportedReason(places)
                .ifPresent(
                        reason -> {
                            throw new ConfigurationException(
                                    """
                                    %s is %s, which cannot be used for these ranks: %s
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

    /// The ranks of the process set and their devices, by rank in the set.
    public List<DevicePlace> places() {
        return places;
    }

    /// The backend for an operation.
    ///
    /// @throws ConfigurationException if there is none, or the one that an option names for this
    ///     collective does not have it; on all ranks
    public P of(Request request) {
        Capability capability = Capability.of(request);
        String variable = capability.variable(kind());
        P ofCollective = named.get(variable);
        if (ofCollective != null
                && !runs(ofCollective, capability, request.wireType(), request.op())) {
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
        return find(capability, request.wireType(), request.op())
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

    /// The backend for a collective, if there is one.
    Optional<P> find(Capability capability, DataType dataType, ReduceOp op) {
        return candidates(capability)
                .filter(each -> runs(each, capability, dataType, op))
                .findFirst();
    }

    /// Those that may run a collective, the first choice first.
    private Stream<P> candidates(Capability capability) {
        P ofCollective = named.get(capability.variable(kind()));
        P ofAll = named.get(BackendSettings.variableOf(kind(), "OPERATIONS"));
        return Stream.concat(
                Stream.of(ofCollective, ofAll)
                        .filter(Objects::nonNull)
                        .flatMap(each -> Stream.concat(variants(each), Stream.of(each))),
                usable.stream());
    }

    /// What runs in place of a backend that an option names.
    private Stream<P> variants(P provider) {
        return usable.stream()
                .filter(
                        each ->
                                each instanceof HierarchicalProvider(DeviceBackendProvider local)
                                        && local.equals(provider));
    }

    private Device.Kind kind() {
        return places.getFirst().device().kind();
    }

    private static boolean runs(
            BackendProvider provider, Capability capability, DataType dataType, ReduceOp op) {
        return capability.isIn(provider)
                && (!capability.reduces() || provider.reduces(dataType, op));
    }

    /// The backends that run at least one collective of one data type.
    Set<P> chosen() {
        Set<P> found = new LinkedHashSet<>();
        for (Capability capability : Capability.values()) {
            for (DataType dataType : DataType.values()) {
                for (ReduceOp op : ReduceOp.values()) {
                    find(capability, dataType, op).ifPresent(found::add);
                }
            }
        }
        return found;
    }

    /// The first choice for each collective, for the log.
    public String describe() {
        Map<String, List<String>> collectives = new LinkedHashMap<>();
        for (Capability capability : Capability.values()) {
            String name =
                    candidates(capability)
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
                .collect(Collectors.joining("; ", "", remark));
    }
}
