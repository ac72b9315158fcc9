package org.horovod4j.runtime.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.collectives.staged.HierarchicalProvider;
import org.horovod4j.collectives.staged.StagedBackendProvider;
import org.horovod4j.option.BackendSettings;
import org.horovod4j.runtime.backend.BackendChoice.Offer;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.testing.FakeBackendProvider;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

class BackendChoiceTest {
    private static final Request ALLREDUCE = onGpu(TestRequests.sum("t", 4));
    private static final Request ADASUM = TestRequests.with(ALLREDUCE, ReduceOp.ADASUM, Scale.NONE);
    private static final Request INTEGERS =
            onGpu(TestRequests.of(CollectiveKind.ALLREDUCE, "i", DataType.INT32, Shape.of(4)));
    private static final Request BROADCAST = onGpu(TestRequests.broadcast("b", 0));
    private static final Request ALLGATHER =
            onGpu(TestRequests.of(CollectiveKind.ALLGATHER, "g", DataType.INT8, Shape.of(4)));

    private final DeviceBackendProvider fast = new FakeBackendProvider("FAST");
    private final DeviceBackendProvider host = new StagedBackendProvider(Device.Kind.CUDA);

    private static Request onGpu(Request request) {
        return TestRequests.on(Device.cuda(0), request);
    }

    private static Offer offer(
            int rank, Map<String, String> options, DeviceBackendProvider... providers) {
        return Offer.of(
                new DevicePlace(rank, "alpha", "alpha", Device.cuda(0), "GPU-" + rank),
                List.of(providers),
                new BackendSettings(options, false));
    }

    private BackendChoice<DeviceBackendProvider> choice(Map<String, String> options) {
        return choice(offer(0, options, fast, host), offer(1, options, fast, host));
    }

    private BackendChoice<DeviceBackendProvider> choice(Offer... offers) {
        return BackendChoice.of(List.of(fast, host), List.of(offers));
    }

    @Test
    void preferredBackendRunsWhatItHas() {
        BackendChoice<DeviceBackendProvider> choice = choice(Map.of());
        assertThat(choice.of(ALLREDUCE)).isSameAs(fast);
        assertThat(choice.of(BROADCAST)).isSameAs(fast);
        assertThat(choice.of(ADASUM)).isSameAs(host);
        assertThat(choice.of(INTEGERS)).isSameAs(host);
        assertThat(choice.of(ALLGATHER)).isSameAs(host);
        assertThat(choice.describe())
                .isEqualTo(
                        "allreduce, broadcast by FAST (FAST for tests);"
                                + " adasum, allgather, alltoall, reducescatter by HOST (copies"
                                + " through main memory)");
    }

    @Test
    void optionNamesTheBackendOfAllOrOneCollective() {
        BackendChoice<DeviceBackendProvider> byHost =
                choice(Map.of("HOROVOD_GPU_OPERATIONS", "HOST"));
        assertThat(byHost.of(ALLREDUCE)).isSameAs(host);
        BackendChoice<DeviceBackendProvider> mixed =
                choice(Map.of("HOROVOD_GPU_OPERATIONS", "FAST", "HOROVOD_GPU_BROADCAST", "HOST"));
        assertThat(mixed.of(ALLREDUCE)).isSameAs(fast);
        assertThat(mixed.of(BROADCAST)).isSameAs(host);
        assertThat(mixed.of(ALLGATHER)).isSameAs(host); // FAST does not have it
    }

    @Test
    void backendThatARankLacksIsNotChosen() {
        DeviceBackendProvider broken = new FakeBackendProvider("FAST").unavailable();
        assertThat(
                        choice(offer(0, Map.of(), fast, host), offer(1, Map.of(), broken, host))
                                .of(ALLREDUCE))
                .isSameAs(host);
        assertThat(choice(offer(0, Map.of(), fast, host), offer(1, Map.of(), host)).of(ALLREDUCE))
                .isSameAs(host);
    }

    @Test
    void namedBackendThatARankLacksIsAnError() {
        Map<String, String> options = Map.of("HOROVOD_GPU_ALLREDUCE", "FAST");
        DeviceBackendProvider broken = new FakeBackendProvider("FAST").unavailable();
        assertThatThrownBy(
                        () ->
                                choice(
                                        offer(0, options, fast, host),
                                        offer(1, options, broken, host),
                                        offer(2, options, host)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageStartingWith(
                        """
                        HOROVOD_GPU_ALLREDUCE is FAST, which some ranks cannot use
                          libFAST.so is missing on rank 1
                          no jar with it on the class path on rank 2
                        """);
    }

    @Test
    void differentOptionsAreAnError() {
        assertThatThrownBy(
                        () ->
                                choice(
                                        offer(0, Map.of(), fast, host),
                                        offer(
                                                1,
                                                Map.of("HOROVOD_GPU_OPERATIONS", "HOST"),
                                                fast,
                                                host)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessage(
                        """
                        HOROVOD_GPU_OPERATIONS differs between ranks
                          not set on rank 0
                          HOST on rank 1
                        Set the same value on every rank.""");
    }

    @Test
    void unsupportedDevicesLeadToTheNextBackendOrAnError() {
        DeviceBackendProvider blocked =
                new FakeBackendProvider("FAST").withUnsupportedReason("ranks 0 and 1 use one GPU");
        List<Offer> offers =
                List.of(offer(0, Map.of(), blocked, host), offer(1, Map.of(), blocked, host));
        assertThat(BackendChoice.of(List.of(blocked, host), offers).of(ALLREDUCE)).isSameAs(host);

        Map<String, String> options = Map.of("HOROVOD_GPU_OPERATIONS", "FAST");
        assertThatThrownBy(
                        () ->
                                BackendChoice.of(
                                        List.of(blocked, host),
                                        List.of(offer(0, options, blocked, host))))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("ranks 0 and 1 use one GPU");
    }

    @Test
    void backendWithoutTheCollectiveThatAnOptionNamesItForIsAnError() {
        BackendChoice<DeviceBackendProvider> choice =
                choice(Map.of("HOROVOD_GPU_ALLGATHER", "FAST"));
        assertThatThrownBy(() -> choice.of(ALLGATHER))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContainingAll("HOROVOD_GPU_ALLGATHER", "FAST", "allgather of 'g'");
    }

    private BackendChoice<DeviceBackendProvider> hierarchical(String... domains) {
        List<DeviceBackendProvider> providers =
                HierarchicalProvider.withVariants(
                        List.of(
                                new FakeBackendProvider("FAST").withReducescatterAndAllgather(),
                                host));
        List<Offer> offers =
                IntStream.range(0, domains.length)
                        .mapToObj(
                                rank ->
                                        Offer.of(
                                                new DevicePlace(
                                                        rank,
                                                        domains[rank],
                                                        domains[rank],
                                                        Device.cuda(0),
                                                        "GPU-" + rank),
                                                providers,
                                                new BackendSettings(Map.of(), true)))
                        .toList();
        return BackendChoice.of(providers, offers);
    }

    @Test
    void hierarchyIsForAllreduceOfEqualHosts() {
        BackendChoice<DeviceBackendProvider> choice = hierarchical("a", "b", "a", "b");
        assertThat(choice.of(ALLREDUCE).name()).isEqualTo("FAST_HIERARCHICAL");
        assertThat(choice.of(INTEGERS).name()).isEqualTo("HOST");
        assertThat(choice.of(BROADCAST).name()).isEqualTo("FAST");
        assertThat(choice.of(ADASUM).name()).isEqualTo("HOST");
        assertThat(choice.describe())
                .startsWith("allreduce by FAST_HIERARCHICAL (FAST for tests inside a host, and")
                .doesNotContain("no effect");
    }

    /// The hierarchy multiplies by a fraction, which is exact enough for floating point alone.
    @Test
    void averagesOfIntegersRunWithoutHierarchy() {
        HierarchicalProvider hierarchy = new HierarchicalProvider(host);
        assertThat(hierarchy.reduces(DataType.INT64, ReduceOp.AVERAGE)).isFalse();
        assertThat(hierarchy.reduces(DataType.INT64, ReduceOp.SUM)).isTrue();
        assertThat(hierarchy.reduces(DataType.FLOAT32, ReduceOp.AVERAGE)).isTrue();
    }

    @Test
    void backendsWithOneNameAreAnErrorThatNamesTheirClasses() {
        DeviceBackendProvider other = new FakeBackendProvider("HOST");
        assertThatThrownBy(
                        () ->
                                choice(
                                        offer(0, Map.of(), fast, host),
                                        offer(1, Map.of(), fast, other, host)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessage(
                        """
                        some ranks have several backends with one name
                          HOST: %s, %s on rank 1
                        Leave one of them on the class path."""
                                .formatted(
                                        FakeBackendProvider.class.getName(),
                                        StagedBackendProvider.class.getName()));
    }

    @Test
    void hierarchyThatCannotBeUsedIsExplained() {
        assertThat(hierarchical("a", "a").describe())
                .endsWith(
                        "; HOROVOD_HIERARCHICAL_ALLREDUCE has no effect on GPUs: all ranks are on one host");
        assertThat(hierarchical("a", "b").describe()).endsWith(": each host has one rank");
        assertThat(hierarchical("", "").describe()).endsWith(": each host has one rank");
        assertThat(hierarchical("a", "b", "b").describe())
                .endsWith(": hosts have different numbers of ranks");
        assertThat(hierarchical("a", "b", "b").of(ALLREDUCE).name()).isEqualTo("FAST");
    }

    @Test
    void ranksMustAgreeOnTheHierarchy() {
        Offer on =
                Offer.of(
                        new DevicePlace(1, "alpha", "alpha", Device.cuda(0), "GPU-1"),
                        List.of(fast, host),
                        new BackendSettings(Map.of(), true));
        assertThatThrownBy(() -> choice(offer(0, Map.of(), fast, host), on))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageStartingWith("HOROVOD_HIERARCHICAL_ALLREDUCE differs between ranks");
    }
}
