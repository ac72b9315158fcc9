package org.horovod4j.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.jspecify.annotations.Nullable;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The settings of one job on Spark.
///
/// @param options of the ranks, by the names of their variables
/// @param job its secret and timeouts
/// @param processOptions options of the JVM of each rank; null to run ranks in executors
/// @param firstPort of those at which the driver listens; 0 for any free ports
/// @param printer prints the lines of ranks
record RunSettings(
        SparkContext spark,
        Map<String, String> options,
        JobSettings job,
        ProcessRank.@Nullable JvmOptions processOptions,
        int firstPort,
        Printer printer) {
    private static final String DRIVER_HOST = "spark.driver.host";
    private static final String BIND_ADDRESS = "spark.driver.bindAddress";

    /// Settings of Spark that encrypt its own connections.
    private static final List<String> SPARK_ENCRYPTION =
            List.of("spark.network.crypto.enabled", "spark.ssl.rpc.enabled");

    /// Takes the lines of all ranks, one at a time.
    @FunctionalInterface
    interface Printer {
        void print(boolean isError, String line);
    }

    RunSettings {
        options = Map.copyOf(options);
    }

    /// The options of the ranks: those of the driver's environment that have a flag of `horovodrun`,
    /// and those that the program gives, which take precedence. If Spark encrypts its connections,
    /// so do the ranks.
    ///
    /// @throws ConfigurationException when an option is unknown or its value is not allowed
    static Map<String, String> options(
            Map<String, String> environment, Map<String, String> given, SparkConf conf) {
        Environment checked = new Environment(given);
        checked.checkKnown();
        Map<String, String> options = new HashMap<>();
        if (SPARK_ENCRYPTION.stream().anyMatch(key -> conf.getBoolean(key, false))) {
            options.put(Options.TLS.variable(), "1");
        }
        for (Option<?> option : Options.all()) {
            List<String> names = option.names();
            if (!option.flags().isEmpty() && names.stream().noneMatch(given::containsKey)) {
                for (String name : names) {
                    if (environment.containsKey(name)) {
                        options.put(name, environment.getOrDefault(name, ""));
                    }
                }
            }
        }
        options.putAll(given);
        Environment all = new Environment(options);
        Options.all().forEach(option -> all.find(option)); // throws when a value is not allowed
        return options;
    }

    SparkConf conf() {
        return spark.getConf();
    }

    /// The name by which executors reach the driver.
    String driverHost() {
        return conf().get(DRIVER_HOST);
    }

    /// Where the driver listens.
    ///
    /// @param offset to the first port
    InetSocketAddress bind(int offset) {
        return new InetSocketAddress(
                conf().get(BIND_ADDRESS, driverHost()), firstPort == 0 ? 0 : firstPort + offset);
    }

    DriverTicket ticket(String ticket, int port) {
        return new DriverTicket(
                driverHost(), port, ticket, job.heartbeatTimeout(), job.startTimeout());
    }

    /// What the ranks of a fixed job and the workers of an elastic job need.
    Map<String, String> common(String host, int rendezvousPort) {
        Map<String, String> settings = new HashMap<>(options);
        put(settings, Options.HOSTNAME, host);
        put(settings, Options.RENDEZVOUS_ADDR, driverHost());
        put(settings, Options.RENDEZVOUS_PORT, rendezvousPort);
        put(settings, Options.RENDEZVOUS_SERVER, RendezvousHost.LAUNCHER);
        settings.put(Options.SECRET_KEY.variable(), job.secret().encode());
        put(settings, Options.JOB_ID, job.id());
        return settings;
    }

    /// The settings of a rank of a fixed job.
    Map<String, String> ofRank(Slot slot, int rendezvousPort) {
        Map<String, String> settings = common(slot.host(), rendezvousPort);
        put(settings, Options.RANK, slot.rank());
        put(settings, Options.SIZE, slot.size());
        put(settings, Options.LOCAL_RANK, slot.localRank());
        put(settings, Options.LOCAL_SIZE, slot.localSize());
        put(settings, Options.CROSS_RANK, slot.crossRank());
        put(settings, Options.CROSS_SIZE, slot.crossSize());
        return settings;
    }

    static <T extends Comparable<T>> void put(
            Map<String, String> settings, Option<T> option, T value) {
        settings.put(option.variable(), option.format(value));
    }

    /// Prints a decision of the driver about its job.
    void printMessage(String text) {
        printer.print(true, "horovod4j: " + text);
    }

    void print(String label, boolean isError, String line) {
        printer.print(isError, "[%s]<%s>:%s".formatted(label, isError ? "stderr" : "stdout", line));
    }
}
