package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

import java.util.logging.ConsoleHandler;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/// Detects an application that has configured `java.util.logging` by calls, as bridges to other
/// libraries do. A separate class, because it is loaded only if that module is present.
final class JavaUtilLogging {
    private JavaUtilLogging() {}

    /// Whether the root logger, the logger of this name or one in between differs from the JDK's
    /// defaults.
    static boolean isCustomized(String name) {
        LogManager loggers = LogManager.getLogManager();
        for (String each = name; !each.isEmpty(); each = parent(each)) {
            if (isConfigured(loggers.getLogger(each))) {
                return true;
            }
        }
        Logger root = loggers.getLogger("");
        return root != null && !isJdkDefault(root);
    }

    private static String parent(String name) {
        return name.substring(0, Math.max(0, name.lastIndexOf('.')));
    }

    private static boolean isConfigured(@Nullable Logger logger) {
        return logger != null
                && (logger.getLevel() != null
                        || logger.getFilter() != null
                        || logger.getHandlers().length > 0
                        || !logger.getUseParentHandlers());
    }

    private static boolean isJdkDefault(Logger root) {
        Handler[] handlers = root.getHandlers();
        return Level.INFO.equals(root.getLevel())
                && root.getFilter() == null
                && handlers.length == 1
                && handlers[0].getClass() == ConsoleHandler.class
                && Level.INFO.equals(handlers[0].getLevel())
                && handlers[0].getFilter() == null
                && handlers[0].getFormatter().getClass() == SimpleFormatter.class;
    }
}
