package org.horovod4j.scheduler;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Optional;

class PmiTest {
    @Test
    void hydraProxyGivesControlPort() {
        assertThat(run("hydra_pmi_proxy --control-port node1:34000 --rmk user --proxy-id 1"))
                .hasValue("node1:34000");
    }

    @Test
    void intelTopLevelProxyGivesUpstreamAddress() {
        String proxy = "hydra_bstrap_proxy --upstream-host node1 --upstream-port 34921 --pgid 0";
        assertThat(run(proxy + " --tree-width 16 --tree-level 1")).hasValue("node1:34921");
        assertThat(run(proxy + " --tree-width 16 --tree-level 2")).isEmpty();
    }

    @Test
    void otherAncestorsGiveNoAddress() {
        assertThat(run("bash --upstream-host")).isEmpty();
        assertThat(run("java -cp app.jar Main")).isEmpty();
    }

    private static Optional<String> run(String commandLine) {
        return Pmi.runAddress(List.of(commandLine.split(" ")));
    }
}
