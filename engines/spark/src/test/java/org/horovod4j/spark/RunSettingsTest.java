package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

import java.util.Map;

class RunSettingsTest {
    private static final String NAME = "HOROVOD_NETWORK_INTERFACES";
    private static final String ALIAS = "HOROVOD_GLOO_IFACE";

    private static Map<String, String> options(
            Map<String, String> environment, Map<String, String> given) {
        return RunSettings.options(environment, given, new SparkConf(false));
    }

    @Test
    void ranksGetOptionsOfTheDriverByEachOfTheirNames() {
        assertThat(options(Map.of(ALIAS, "eth0", "HOME", "/home"), Map.of()))
                .isEqualTo(Map.of(ALIAS, "eth0"));
        assertThat(options(Map.of(NAME, "eth1", ALIAS, "eth0"), Map.of()))
                .isEqualTo(Map.of(NAME, "eth1", ALIAS, "eth0"));
    }

    @Test
    void anOptionOfTheProgramReplacesAllNamesOfTheDriver() {
        assertThat(options(Map.of(NAME, "eth1"), Map.of(ALIAS, "eth0")))
                .isEqualTo(Map.of(ALIAS, "eth0"));
    }
}
