package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class RiseMlFileTest {
    @TempDir Path folder;

    private JobFile read(String text) throws IOException {
        return JobFile.read(Files.writeString(folder.resolve("riseml.yml"), text));
    }

    @Test
    void horovodTrainingIsParsed() throws Exception {
        JobFile job =
                read(
                        """
                        project: vision
                        train:
                          framework: tensorflow
                          tensorflow:
                            version: 1.5.0
                            tensorboard: 'true'
                            horovod:
                              workers: 3
                          install:
                          - apt-get install -y git
                          resources:
                            gpus: 2
                            cpus: 12
                            mem: 4096
                          run:
                          - echo preparing
                          - ./train.sh --deep
                        """);
        assertThat(job.name()).isEqualTo("project vision (tensorflow)");
        assertThat(job.workers()).isEqualTo(new JobFile.Workers(3, 2, 2));
        assertThat(job.commands())
                .containsExactly(
                        List.of("sh", "-c", "echo preparing"),
                        List.of("sh", "-c", "./train.sh --deep"));
        assertThat(job.notices())
                .satisfiesExactly(
                        install -> assertThat(install).contains(":9: train.install: has no effect"),
                        board -> assertThat(board).contains(":6: train.tensorflow.tensorboard"));
    }

    @Test
    void processesOfAWorkerCanBeGiven() throws Exception {
        assertThat(
                        read("""
                                        project: vision
                                        train:
                                          framework: tensorflow
                                          tensorflow:
                                            distributed: false
                                            horovod:
                                              workers:
                                                count: 32
                                                processes: 1
                                          resources: {gpus: 4, cpus: 2, mem: 8}
                                          run: ./train.sh
                                        """)
                                .workers())
                .isEqualTo(new JobFile.Workers(32, 1, 4));
    }

    @Test
    void aTrainingWithoutHorovodHasOneWorker() throws Exception {
        assertThat(read("project: x\ntrain:\n  image: a/b\n  run: nvidia-smi\n").workers())
                .isEqualTo(new JobFile.Workers(1, 1, 0));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'train:'                                     | :1: there is nothing under train",
                "'train:\n  framework: x'                     | :1: train: the key run is missing",
                "'train:\n  run: x\n  resurces: {}'           | :3: unknown key 'resurces' in train. Did you mean resources?",
                "'train:\n  run: x\n  parameters: {a: [1]}'   | :3: train.parameters: a search over parameters is not supported",
                "'train:\n  run: x\n  tensorflow:\n    distributed: {ps: 1}' | :4: train.tensorflow.distributed: parameter servers are not supported",
                "'train:\n  run: x\n  tensorflow:\n    horovod:\n      worker: 2' | :5: unknown key 'worker' in train.tensorflow.horovod. Did you mean workers?",
            })
    void errorNamesTheLine(String text, String message) {
        assertThatThrownBy(() -> read(text)).hasMessageContaining("riseml.yml" + message);
    }
}
