package org.horovod4j.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/// The compiled kernels belong to their sources, and run on all GPUs that we support. No GPU is needed.
class PtxTest {
    private static final Path RESOURCES = Path.of("src/main/resources/org/horovod4j/cuda");
    private static final Path SOURCES = Path.of("src/main/cuda");

    private static final Pattern ENTRY =
            Pattern.compile("\\.visible \\.entry (hvd_\\w+)\\(([^)]*)\\)");
    private static final Pattern PARAMETER =
            Pattern.compile("\\.param .*?(?:\\[(\\d+)])?(?=,|$)", Pattern.MULTILINE);

    @ParameterizedTest
    @ValueSource(strings = {"adasum", "copy", "reduce", "topk"})
    void isForComputeCapability7AndOlderDrivers(String name) throws IOException {
        assertThat(ptx(name))
                .containsPattern("(?m)^\\.version 6\\.3$")
                .containsPattern("(?m)^\\.target sm_70$")
                .containsPattern("(?m)^\\.address_size 64$");
    }

    /// Every kernel that a source defines, by a macro or by itself, is in the compiled file.
    @ParameterizedTest
    @ValueSource(strings = {"adasum", "copy", "reduce", "topk"})
    void hasTheKernelsOfItsSource(String name) throws IOException {
        String source = Files.readString(SOURCES.resolve(name + ".cu"));
        List<String> prefixes =
                Pattern.compile("__global__ void (hvd_\\w+)(##)?")
                        .matcher(source)
                        .results()
                        .map(found -> found.group(1))
                        .toList();
        assertThat(prefixes).isNotEmpty();
        TreeSet<String> kernels = new TreeSet<>();
        ENTRY.matcher(ptx(name)).results().forEach(entry -> kernels.add(entry.group(1)));
        assertThat(prefixes)
                .allSatisfy(
                        prefix -> assertThat(kernels).anyMatch(each -> each.startsWith(prefix)));
        assertThat(kernels).allSatisfy(each -> assertThat(prefixes).anyMatch(each::startsWith));
    }

    /// The sizes of the structs that [CopyBatch] and [CudaKernels] write.
    @ParameterizedTest
    @ValueSource(
            strings = {
                "copy, hvd_copy_bytes, 0, 4040",
                "reduce, hvd_reduce_float32, 1, 520",
                "reduce, hvd_reduce_int8, 3, 32"
            })
    void structsHaveTheSizesOfTheSource(String line) throws IOException {
        String[] words = line.split(", ", -1);
        MatchResult entry =
                ENTRY.matcher(ptx(words[0]))
                        .results()
                        .filter(each -> each.group(1).equals(words[1]))
                        .findFirst()
                        .orElseThrow();
        List<MatchResult> parameters = PARAMETER.matcher(entry.group(2)).results().toList();
        assertThat(parameters.get(Integer.parseInt(words[2])).group(1)).isEqualTo(words[3]);
    }

    private static String ptx(String name) throws IOException {
        return Files.readString(RESOURCES.resolve(name + ".ptx"));
    }
}
