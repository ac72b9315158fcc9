package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.BlockId;
import org.horovod4j.Hvd;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.runtime.HvdRuntime;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Looks for the secret of a job in all that Spark stores or shows.
@Timeout(120)
class SecretIT {
    private static final String SPARK_SECRET = "the secret of this Spark application";

    private static SparkSession start(boolean authenticate, Path eventLog) throws IOException {
        return TestCluster.start(
                "local-cluster[1,1,1024]",
                Map.of(
                        "spark.eventLog.enabled",
                        "true",
                        "spark.eventLog.dir",
                        eventLog.toUri().toString(),
                        "spark.eventLog.compress",
                        "false",
                        "spark.broadcast.compress",
                        "false",
                        // else Spark may remove what the test reads
                        "spark.cleaner.referenceTracking",
                        "false",
                        "spark.authenticate",
                        Boolean.toString(authenticate),
                        "spark.authenticate.secret",
                        SPARK_SECRET,
                        "spark.ui.enabled",
                        "true",
                        "spark.ui.port",
                        "0"));
    }

    @ParameterizedTest(name = "spark.authenticate={0}")
    @ValueSource(booleans = {true, false})
    void theSecretIsNowhereInWhatSparkStoresOrShows(boolean authenticate, @TempDir Path eventLog)
            throws Exception {
        String secret;
        String closures;
        String pages;
        try (SparkSession spark = start(authenticate, eventLog)) {
            secret =
                    HvdSpark.ranks(spark, 1)
                            .startTimeout(Duration.ofMinutes(1))
                            .run(comm -> secretOfThisRank())
                            .getFirst();
            closures = broadcasts();
            pages =
                    Stream.of("environment", "jobs", "stages", "allexecutors")
                            .map(page -> ui(spark, page))
                            .collect(Collectors.joining());
        } // completes the event log
        String events = read(eventLog);

        assertThat(secret).hasSize(43);
        // Each text is what we take it for: the scan would find something in it.
        assertThat(closures).contains(RankTask.class.getName());
        assertThat(pages).contains("sparkProperties").contains("Horovod4J: 1 rank of");
        assertThat(events).contains("SparkListenerJobStart").contains("Horovod4J: 1 rank of");
        for (String form : forms(secret)) {
            assertThat(closures).doesNotContain(form);
            assertThat(pages).doesNotContain(form);
            assertThat(events).doesNotContain(form);
        }
        // What a connection to the driver needs besides the ticket of the closure.
        assertThat(closures + pages + events).doesNotContain(SPARK_SECRET);
    }

    /// The bytes as they are, as base64 of both kinds, and as hexadecimal digits.
    private static List<String> forms(String secret) {
        byte[] bytes = Base64.getUrlDecoder().decode(secret);
        return List.of(
                secret,
                new String(bytes, ISO_8859_1),
                Base64.getEncoder().withoutPadding().encodeToString(bytes),
                HexFormat.of().formatHex(bytes));
    }

    private static String secretOfThisRank() throws ReflectiveOperationException {
        Field runtime = Hvd.class.getDeclaredField("runtime");
        runtime.setAccessible(true);
        Field settings = HvdRuntime.class.getDeclaredField("settings");
        settings.setAccessible(true);
        WorkerSettings own = (WorkerSettings) settings.get(runtime.get(null));
        RendezvousSettings.Server server = (RendezvousSettings.Server) own.rendezvousSettings();
        return Objects.requireNonNull(server).secret().text();
    }

    /// What the driver has sent to executors: the closures of tasks among it.
    private static String broadcasts() {
        var blocks = SparkEnv.get().blockManager();
        StringBuilder text = new StringBuilder();
        List<BlockId> ids =
                CollectionConverters.asJava(
                        blocks.getMatchingBlockIds(id -> id.name().contains("_piece")));
        for (BlockId id : ids) {
            ByteBuffer buffer = blocks.getLocalBytes(id).get().toByteBuffer();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            blocks.releaseLock(id, Option.empty()); // Spark could not remove the block otherwise
            text.append(new String(bytes, ISO_8859_1));
        }
        return text.toString();
    }

    private static String ui(SparkSession spark, String page) {
        URI uri =
                URI.create(
                        "%s/api/v1/applications/%s/%s"
                                .formatted(
                                        spark.sparkContext().uiWebUrl().get(),
                                        spark.sparkContext().applicationId(),
                                        page));
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> response =
                    client.send(
                            HttpRequest.newBuilder(uri).build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).as(page).isEqualTo(200);
            return response.body();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String read(Path folder) throws IOException {
        StringBuilder text = new StringBuilder();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                text.append(Files.readString(file, ISO_8859_1));
            }
        }
        return text.toString();
    }
}
