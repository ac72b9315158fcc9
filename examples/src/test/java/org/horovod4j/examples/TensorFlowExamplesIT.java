package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The examples that train with TensorFlow Java, with few images and two processes each.
class TensorFlowExamplesIT {
    private static final Pattern ACCURACY = Pattern.compile("test accuracy ([0-9.]+) %");

    @TempDir private Path digits;
    @TempDir private Path folder;

    @Test
    void mnistLearnsAndSavesTheNetwork() throws Exception {
        MnistSubset.write(digits, 3000, 1000);
        Path model = folder.resolve("model");
        try (ExampleJob job =
                ExampleJob.start(
                        2,
                        TensorFlowMnist.class,
                        "--data",
                        digits.toString(),
                        "--model",
                        model.toString())) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            Matcher accuracy = ACCURACY.matcher(job.output());
            assertThat(accuracy.find()).as(job.output()).isTrue();
            // guessing is right once in ten times
            assertThat(Double.parseDouble(accuracy.group(1))).isGreaterThan(85);
            assertThat(job.output()).contains("images/s").contains("with 2 process(es)");
        }
        assertThat(model.resolve("mnist.index")).exists();
    }
}
