package org.horovod4j.collectives.staged;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DevicePlace;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// Allreduce by another backend inside each host, and by the CPU between hosts.
///
/// @param local the backend inside a host, which has reducescatter and allgather
public record HierarchicalProvider(DeviceBackendProvider local) implements DeviceBackendProvider {
    /// These backends, after those that use one of them inside each host. `HOST` always works inside
    /// hosts first, so it needs none.
    public static List<DeviceBackendProvider> withVariants(List<DeviceBackendProvider> providers) {
        List<DeviceBackendProvider> all = new ArrayList<>();
        for (DeviceBackendProvider provider : providers) {
            if (canBeLocal(provider.backendType())
                    && !(provider instanceof StagedBackendProvider)) {
                all.add(new HierarchicalProvider(provider));
            }
        }
        all.addAll(providers);
        return all;
    }

    private static boolean canBeLocal(Class<?> type) {
        return Backend.SupportsReducescatter.class.isAssignableFrom(type)
                && Backend.SupportsAllgather.class.isAssignableFrom(type);
    }

    @Override
    public String name() {
        return local.name() + "_HIERARCHICAL";
    }

    @Override
    public Device.Kind kind() {
        return local.kind();
    }

    @Override
    public int preference() {
        return local.preference();
    }

    @Override
    public Class<? extends DeviceBackend> backendType() {
        return HierarchicalBackend.class;
    }

    /// Without averages of integers, which would be multiplied by a fraction and not divided.
    @Override
    public boolean reduces(DataType dataType, ReduceOp op) {
        return local.reduces(dataType, op)
                && (op != ReduceOp.AVERAGE || dataType.isFloatingPoint());
    }

    @Override
    public String describe() {
        return "%s inside a host, and main memory between hosts".formatted(local.describe());
    }

    @Override
    public boolean isAvailable() {
        return local.isAvailable();
    }

    @Override
    public Optional<String> unsupportedReason(List<DevicePlace> places) {
        List<List<Integer>> hosts = hosts(places);
        int ranksOfHost = hosts.getFirst().size();
        if (hosts.size() == 1) {
            return Optional.of("all ranks are on one host");
        }
        if (hosts.stream().anyMatch(ranks -> ranks.size() != ranksOfHost)) {
            return Optional.of("hosts have different numbers of ranks");
        }
        if (ranksOfHost == 1) {
            return Optional.of("each host has one rank");
        }
        return hosts.stream()
                .map(ranks -> local.unsupportedReason(ranks.stream().map(places::get).toList()))
                .flatMap(Optional::stream)
                .findFirst();
    }

    /// The ranks of each host, more precisely of each memory domain, as the CPU backend groups them.
    static List<List<Integer>> hosts(List<DevicePlace> places) {
        Map<String, List<Integer>> hosts = new LinkedHashMap<>();
        for (int rank = 0; rank < places.size(); rank++) {
            String domain = places.get(rank).domain();
            hosts.computeIfAbsent(
                            domain.isEmpty() ? "rank " + rank : domain, _ -> new ArrayList<>())
                    .add(rank);
        }
        return List.copyOf(hosts.values());
    }

    @Override
    public DeviceBackend create(DeviceContext context) {
        return new HierarchicalBackend(context, local);
    }
}
