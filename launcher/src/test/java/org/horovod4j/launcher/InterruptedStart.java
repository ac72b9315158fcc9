package org.horovod4j.launcher;

import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/// A program that launches a function on a host that never becomes ready, and interrupts itself.
final class InterruptedStart {
    private InterruptedStart() {}

    /// Launches a function and interrupts the launch.
    ///
    /// @param arguments the host, and the file that exists when the launcher waits for it
    public static void main(String[] arguments) throws InterruptedException {
        Thread launch =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    try {
                                        Launcher.processes(1)
                                                .hosts(arguments[0] + ":1")
                                                .startTimeout(Duration.ofMinutes(30))
                                                .execute(_ -> {});
                                    } catch (LaunchException e) {
                                        System.out.println("launch: " + e.getMessage());
                                        System.out.println(
                                                "interrupted: "
                                                        + Thread.currentThread().isInterrupted());
                                    }
                                });
        await().atMost(Duration.ofMinutes(1)).until(() -> Files.exists(Path.of(arguments[1])));
        launch.interrupt();
        launch.join();
    }
}
