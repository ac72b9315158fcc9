package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.AbstractThrowableAssert;
import org.horovod4j.ConfigurationException;
import org.horovod4j.option.RendezvousSettings.SecretText;
import org.horovod4j.option.WorkerSettings.KernelChoice;
import org.horovod4j.option.WorkerSettings.TransportChoice;
import org.horovod4j.spi.RankAndSize;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class WorkerSettingsTest {
    /// The variables of the fourth of six processes, on two hosts with three each.
    private static final Map<String, String> LAUNCHED =
            Map.ofEntries(
                    Map.entry("HOROVOD_RANK", "3"),
                    Map.entry("HOROVOD_SIZE", "6"),
                    Map.entry("HOROVOD_LOCAL_RANK", "0"),
                    Map.entry("HOROVOD_LOCAL_SIZE", "3"),
                    Map.entry("HOROVOD_CROSS_RANK", "1"),
                    Map.entry("HOROVOD_CROSS_SIZE", "2"),
                    Map.entry("HOROVOD_HOSTNAME", "node2"),
                    Map.entry("HOROVOD_RENDEZVOUS_ADDR", "node1"),
                    Map.entry("HOROVOD_RENDEZVOUS_PORT", "4242"),
                    Map.entry("HOROVOD_RENDEZVOUS_SERVER", "launcher"),
                    Map.entry("HOROVOD_SECRET_KEY", "hunter2"));

    @Test
    void processWithoutVariablesIsSingle() {
        assertThat(settings(Map.of()))
                .isEqualTo(
                        new WorkerSettings(
                                new ProcessIdentity(
                                        RankAndSize.SINGLE,
                                        RankAndSize.SINGLE,
                                        RankAndSize.SINGLE,
                                        null,
                                        null,
                                        null,
                                        ""),
                                "localhost",
                                null,
                                Duration.ofSeconds(30),
                                Duration.ofSeconds(10),
                                List.of(),
                                TransportChoice.AUTO,
                                Path.of("/dev/shm"),
                                KernelChoice.AUTO,
                                AllreduceChoice.AUTO,
                                RuntimeSettings.DEFAULT,
                                null));
    }

    @Test
    void launchedProcessReadsRankAndSize() {
        WorkerSettings settings = settings(LAUNCHED);
        assertThat(settings.world()).isEqualTo(new RankAndSize(3, 6));
        assertThat(settings.local()).isEqualTo(new RankAndSize(0, 3));
        assertThat(settings.cross()).isEqualTo(new RankAndSize(1, 2));
        assertThat(settings.host()).isEqualTo("node2");
        assertThat(settings.rendezvousSettings())
                .isEqualTo(
                        new RendezvousSettings.Server(
                                List.of(InetSocketAddress.createUnresolved("node1", 4242)),
                                RendezvousHost.LAUNCHER,
                                new SecretText("hunter2")));
    }

    @Test
    void theSecretIsNotPrinted() {
        assertThat(settings(LAUNCHED).toString()).doesNotContain("hunter2");
    }

    @Test
    void localAndCrossRanksAreOptional() {
        WorkerSettings settings =
                settings(
                        without(
                                "HOROVOD_LOCAL_RANK",
                                "HOROVOD_LOCAL_SIZE",
                                "HOROVOD_CROSS_RANK",
                                "HOROVOD_CROSS_SIZE"));
        assertThat(settings.local()).isNull();
        assertThat(settings.cross()).isNull();
    }

    @Test
    void hostNameDefaultsToLocalHost() {
        assertThat(settings(without("HOROVOD_HOSTNAME")).host()).isNotBlank();
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_RANK, HOROVOD_SIZE",
        "HOROVOD_SIZE, HOROVOD_RANK",
        "HOROVOD_LOCAL_RANK, HOROVOD_LOCAL_SIZE",
        "HOROVOD_CROSS_SIZE, HOROVOD_CROSS_RANK"
    })
    void rankOrSizeAloneIsRefused(String missing, String given) {
        refused(without(missing)).hasMessageContaining("%s is set, but %s is not", given, missing);
    }

    @Test
    void aRankBeyondTheSizeIsRefused() {
        refused(with("HOROVOD_RANK", "6"))
                .hasMessageContaining("HOROVOD_RANK is 6 and HOROVOD_SIZE is 6")
                .hasMessageContaining("from 0 to 5");
    }

    @Test
    void localSizeAboveSizeIsRefused() {
        refused(with("HOROVOD_LOCAL_SIZE", "7"))
                .hasMessageContaining("HOROVOD_LOCAL_SIZE is 7, but there are only 6 processes");
    }

    @Test
    void interfacesAreAList() {
        assertThat(settings(with("HOROVOD_NETWORK_INTERFACES", "eth0, ib0,")).interfaces())
                .containsExactly("eth0", "ib0");
        assertThat(settings(with("HOROVOD_GLOO_IFACE", "eth1")).interfaces())
                .containsExactly("eth1");
    }

    @Test
    void singleProcessNeedsNoRendezvous() {
        Map<String, String> alone = Map.of("HOROVOD_RANK", "0", "HOROVOD_SIZE", "1");
        assertThat(settings(alone).rendezvousSettings()).isNull();
    }

    @Test
    void rendezvousAddressWithoutRankIsRefused() {
        refused(without("HOROVOD_RANK", "HOROVOD_SIZE"))
                .hasMessageContaining("HOROVOD_RENDEZVOUS_ADDR is set, but HOROVOD_RANK");
    }

    private static WorkerSettings settings(Map<String, String> variables) {
        return WorkerSettings.from(new Environment(variables));
    }

    private static AbstractThrowableAssert<?, ?> refused(Map<String, String> variables) {
        return assertThatThrownBy(() -> settings(variables))
                .isInstanceOf(ConfigurationException.class);
    }

    private static Map<String, String> with(String... namesAndValues) {
        Map<String, String> variables = new HashMap<>(LAUNCHED);
        for (int i = 0; i < namesAndValues.length; i += 2) {
            variables.put(namesAndValues[i], namesAndValues[i + 1]);
        }
        return variables;
    }

    private static Map<String, String> without(String... names) {
        Map<String, String> variables = new HashMap<>(LAUNCHED);
        for (String name : names) {
            variables.remove(name);
        }
        return variables;
    }
}
