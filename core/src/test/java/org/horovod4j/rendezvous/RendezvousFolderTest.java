package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.Secret;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

class RendezvousFolderTest {
    private static final String JOB = "slurm-7.0.0";

    @TempDir Path home;

    @Test
    void publishedInfoIsFoundUntilRemoved() throws Exception {
        RendezvousFolder folder = folder();
        assertThat(folder.find(JOB)).isEmpty();
        RendezvousServerInfo published = info("first");
        folder.publish(JOB, published);

        Optional<RendezvousServerInfo> found = folder.find(JOB);
        assertThat(found).map(RendezvousServerInfo::writer).contains("first");
        assertThat(found.orElseThrow().servers())
                .containsExactly(
                        InetSocketAddress.createUnresolved("127.0.0.1", 4242),
                        InetSocketAddress.createUnresolved("0:0:0:0:0:0:0:1", 4242));
        assertThat(found.orElseThrow().secret().encode()).isEqualTo(published.secret().encode());
        assertThat(folder.find("slurm-7.1.0")).isEmpty();

        folder.remove(JOB);
        folder.remove(JOB);
        assertThat(folder.find(JOB)).isEmpty();
    }

    @Test
    void onlyOwnerCanRead() throws Exception {
        folder().publish(JOB, info("us"));
        assertThat(mode(home.resolve("a/b"))).isEqualTo("rwx------");
        assertThat(mode(folder().file(JOB))).isEqualTo("rw-------");
        try (var left = Files.list(home.resolve("a/b"))) {
            assertThat(left).containsExactly(folder().file(JOB));
        }
    }

    @Test
    void concurrentCreationSucceeds() throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Optional<RendezvousServerInfo>>> looks = new ArrayList<>();
            for (int rank = 0; rank < 32; rank++) {
                looks.add(threads.submit(() -> folder().find(JOB)));
            }
            for (Future<Optional<RendezvousServerInfo>> look : looks) {
                assertThat(look.get()).isEmpty();
            }
        }
        assertThat(mode(home.resolve("a/b"))).isEqualTo("rwx------");
    }

    /// Uses a path where even root cannot create a folder.
    @Test
    void uncreatableFolderFailsWithRemedy() {
        assumeTrue(Files.isDirectory(Path.of("/proc/self")), "needs /proc");
        RendezvousFolder folder = new RendezvousFolder(Path.of("/proc/self/meetings"));
        assertThatThrownBy(() -> folder.publish(JOB, info("us")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("/proc/self/meetings cannot be created or written to")
                .hasMessageContaining("Set HOROVOD_RENDEZVOUS_FOLDER to a folder");
        assertThatThrownBy(() -> folder.find(JOB))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("/proc/self/meetings cannot be created");
    }

    @Test
    void theSecretIsNotPrinted() {
        RendezvousServerInfo info = info("us");
        assertThat(info.toString())
                .contains("127.0.0.1 port 4242")
                .doesNotContain(info.secret().encode());
    }

    @Test
    void publishIsAtomic() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        folder().publish(JOB, info("writer 0"));
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Integer>> readers = new ArrayList<>();
            for (int reader = 0; reader < 4; reader++) {
                readers.add(
                        threads.submit(
                                () -> {
                                    int seen = 0;
                                    while (!over.get() || seen == 0) {
                                        assertThat(folder().find(JOB)).isPresent();
                                        seen++;
                                    }
                                    return seen;
                                }));
            }
            try {
                for (int writer = 1; writer <= 200; writer++) {
                    folder().publish(JOB, info("writer " + writer));
                }
            } finally {
                over.set(true);
            }
            for (Future<Integer> reader : readers) {
                assertThat(reader.get()).isPositive();
            }
        }
        assertThat(folder().find(JOB)).map(RendezvousServerInfo::writer).contains("writer 200");
    }

    @Test
    void aFolderThatOthersMayEnterIsRefused() throws Exception {
        folder().publish(JOB, info("us"));
        allow(home.resolve("a/b"), "rwxr-x---");
        assertThatThrownBy(() -> folder().find(JOB))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("a/b is rwxr-x---")
                .hasMessageContaining("chmod 700");
        assertThatThrownBy(() -> folder().publish(JOB, info("us")))
                .hasMessageContaining("chmod 700");
    }

    @Test
    void aFileThatOthersMayReadIsRefused() throws Exception {
        folder().publish(JOB, info("us"));
        allow(folder().file(JOB), "rw-r--r--");
        assertThatThrownBy(() -> folder().find(JOB))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(JOB + " is rw-r--r--")
                .hasMessageContaining("chmod 600");
    }

    @Test
    void aLinkIsRefused() throws Exception {
        folder().publish("other", info("us"));
        Files.createSymbolicLink(folder().file(JOB), folder().file("other"));
        assertThatThrownBy(() -> folder().find(JOB))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("a link");
    }

    @Test
    void aFileOfAnotherUserIsRefused() throws Exception {
        folder().publish(JOB, info("us"));
        giveAway(folder().file(JOB));
        assertThatThrownBy(() -> folder().find(JOB))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("belongs to nobody");
    }

    @Test
    void malformedInfoIsRefused() throws Exception {
        folder().publish(JOB, info("us"));
        for (String text :
                List.of(
                        "",
                        "horovod4j-rendezvous 2\n",
                        "horovod4j-rendezvous 1\n",
                        "horovod4j-rendezvous 1\naddress here\n",
                        "horovod4j-rendezvous 1\naddress ::1 99999\n",
                        "horovod4j-rendezvous 1\naddress ::1 99\nsecret x\n",
                        "horovod4j-rendezvous 1\nmore\n")) {
            Files.writeString(folder().file(JOB), text);
            assertThatThrownBy(() -> folder().find(JOB))
                    .as(text)
                    .isInstanceOf(MalformedMessageException.class);
        }
    }

    @Test
    void pathThatIsNotAFolderFails() throws Exception {
        Files.writeString(home.resolve("a"), "a file");
        assertThatThrownBy(() -> folder().publish(JOB, info("us")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(folder().file(JOB).toString())
                .hasMessageContaining("HOROVOD_RENDEZVOUS_FOLDER");
    }

    private RendezvousFolder folder() {
        return new RendezvousFolder(home.resolve("a/b"));
    }

    private static RendezvousServerInfo info(String writer) {
        return new RendezvousServerInfo(
                writer,
                List.of(
                        new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 4242),
                        new InetSocketAddress(InetAddress.ofLiteral("::1"), 4242)),
                Secret.random());
    }

    private static String mode(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    private static void allow(Path path, String mode) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(mode));
    }

    private static void giveAway(Path file) throws IOException {
        assumeTrue("root".equals(System.getProperty("user.name")), "only root can give files away");
        UserPrincipal nobody =
                file.getFileSystem()
                        .getUserPrincipalLookupService()
                        .lookupPrincipalByName("nobody");
        Files.setOwner(file, nobody);
    }
}
