package org.horovod4j.testing;

import org.horovod4j.testing.World.Transport;
import org.horovod4j.testsupport.SlowCases;

import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// A world to test in: number of ranks and hosts, transport, and whether connections are encrypted.
public record Layout(int size, int hosts, Transport transport, boolean tls) {
    private static final int[] SIZES = {1, 2, 3, 4, 5, 8, 16};
    private static final int MAX_HOSTS = 3;

    public Layout(int size, int hosts, Transport transport) {
        this(size, hosts, transport, false);
    }

    /// Every transport, small and large worlds, one and several hosts, and the encrypted ones of
    /// [#few]. In the slow tests, every combination of them.
    ///
    /// Over TCP no ranks share memory, so the number of hosts does not matter.
    public static Stream<Layout> all() {
        Stream<Layout> plain = SlowCases.ENABLED ? everyCombination() : everyValue();
        return Stream.concat(plain, few().filter(Layout::tls));
    }

    private static Stream<Layout> everyCombination() {
        return Arrays.stream(Transport.values())
                .flatMap(
                        transport ->
                                Arrays.stream(SIZES)
                                        .boxed()
                                        .flatMap(size -> spread(size, transport)));
    }

    private static Stream<Layout> everyValue() {
        return Stream.of(
                new Layout(1, 1, Transport.LOCAL),
                new Layout(2, 2, Transport.LOCAL),
                new Layout(5, 2, Transport.LOCAL),
                new Layout(16, 3, Transport.LOCAL),
                new Layout(2, 1, Transport.SHM),
                new Layout(4, 2, Transport.SHM),
                new Layout(8, 1, Transport.SHM),
                new Layout(3, 1, Transport.TCP),
                new Layout(8, 1, Transport.TCP));
    }

    private static Stream<Layout> spread(int size, Transport transport) {
        int most = transport == Transport.TCP ? 1 : Math.min(size, MAX_HOSTS);
        return IntStream.rangeClosed(1, most).mapToObj(hosts -> new Layout(size, hosts, transport));
    }

    /// One layout for each path of a collective: one rank, one host, one rank per host, several
    /// ranks per host, hosts of different size, sockets only, encrypted. In the slow tests, more of
    /// each.
    public static Stream<Layout> few() {
        Stream<Layout> one =
                Stream.of(
                        new Layout(1, 1, Transport.LOCAL),
                        new Layout(3, 3, Transport.LOCAL),
                        new Layout(5, 2, Transport.LOCAL),
                        new Layout(2, 1, Transport.SHM),
                        new Layout(3, 1, Transport.TCP),
                        new Layout(4, 2, Transport.SHM, true));
        Stream<Layout> more =
                Stream.of(
                        new Layout(3, 1, Transport.LOCAL),
                        new Layout(4, 2, Transport.SHM),
                        new Layout(5, 3, Transport.SHM),
                        new Layout(2, 1, Transport.TCP),
                        new Layout(5, 1, Transport.TCP),
                        new Layout(3, 1, Transport.TCP, true));
        return SlowCases.ENABLED ? Stream.concat(one, more) : one;
    }

    /// The layouts of [#few] with more than one rank.
    public static Stream<Layout> fewOfSeveralRanks() {
        return few().filter(layout -> layout.size() > 1);
    }

    public World world() {
        World world = World.of(size).hosts(hosts).via(transport);
        return tls ? world.with(Map.of("HOROVOD_TLS", "1")) : world;
    }

    @Override
    public String toString() {
        return "%d rank%s on %d host%s via %s%s"
                .formatted(
                        size,
                        size == 1 ? "" : "s",
                        hosts,
                        hosts == 1 ? "" : "s",
                        transport,
                        tls ? ", encrypted" : "");
    }
}
