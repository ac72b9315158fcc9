package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.Map;

class ExportedVariablesTest {
    @Test
    void hostAndRankSpecificVariablesAreNotExported() {
        Map<String, String> environment =
                Map.ofEntries(
                        Map.entry("PATH", "/bin"),
                        Map.entry("MY_DATA", "/data"),
                        Map.entry("NCCL_DEBUG", "INFO"),
                        Map.entry("OMPI_MCA_btl", "tcp,self"),
                        Map.entry("OLDPWD", "/"),
                        Map.entry("BASH_FUNC_ls%%", "() { :; }"),
                        Map.entry("BASH_FUNC_ls", "() { :; }"),
                        Map.entry("CUDA_VISIBLE_DEVICES", "0"),
                        Map.entry("OMPI_COMM_WORLD_RANK", "1"),
                        Map.entry("PMI_RANK", "1"),
                        Map.entry("HOROVOD_RANK", "1"),
                        Map.entry("HOROVOD_HOSTNAME", "here"));
        assertThat(ExportedVariables.names(environment, Map.of("HOROVOD_SECRET_KEY", "s")))
                .containsExactly(
                        "HOROVOD_SECRET_KEY", "MY_DATA", "NCCL_DEBUG", "OMPI_MCA_btl", "PATH");
    }
}
