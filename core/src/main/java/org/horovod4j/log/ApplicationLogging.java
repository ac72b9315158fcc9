package org.horovod4j.log;

import java.util.Set;
import java.util.stream.Stream;

/// Whether the application has configured its own logging. If so, log lines go there and not to
/// standard error.
///
/// It has when it provides a [System.LoggerFinder], as logging libraries do, or when it has
/// configured `java.util.logging`. The JDK's defaults do not count: they print each line as two,
/// without the rank, and ignore `HOROVOD_LOG_LEVEL`.
final class ApplicationLogging {
    private static final Set<String> MODULES_OF_THE_JDK = Set.of("java.base", "java.logging");

    private ApplicationLogging() {}

    /// Whether the application handles the logger of this name.
    static boolean handles(String logger) {
        return hasFinder() || (hasJavaLogging() && hasSetUpJavaLogging(logger));
    }

    private static boolean hasFinder() {
        Module provider = System.LoggerFinder.getLoggerFinder().getClass().getModule();
        return !provider.isNamed() || !MODULES_OF_THE_JDK.contains(provider.getName());
    }

    /// A small runtime image may lack it.
    private static boolean hasJavaLogging() {
        return ModuleLayer.boot().findModule("java.logging").isPresent();
    }

    private static boolean hasSetUpJavaLogging(String logger) {
        return Stream.of(
                                "java.util.logging.config.file",
                                "java.util.logging.config.class",
                                "java.util.logging.SimpleFormatter.format")
                        .anyMatch(property -> System.getProperty(property) != null)
                || JavaUtilLogging.isCustomized(logger);
    }
}
