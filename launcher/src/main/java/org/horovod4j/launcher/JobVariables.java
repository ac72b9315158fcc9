package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.option.BindTo;
import org.horovod4j.option.ElasticOptions;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;

import java.util.LinkedHashMap;
import java.util.Map;

/// The environment variables by which a process finds the others.
///
/// Only its own user can read the environment of a process; everyone can read its command line. The
/// secret is in neither: a Flight Recorder file would show it.
///
/// @param launcherAddress of the rendezvous server
/// @param options variables that flags set for all processes
/// @param threads the number of threads that a process computes with
/// @param gpuAssignment the GPUs that a process sees
record JobVariables(
        JobSettings settings,
        LauncherAddress launcherAddress,
        Map<String, String> options,
        ComputeThreads threads,
        GpuAssignment gpuAssignment) {
    /// Makes Python print each line at once, as Java does, if the program is a Python script.
    private static final String UNBUFFERED = "PYTHONUNBUFFERED";

    JobVariables {
        options = Map.copyOf(options);
    }

    /// @param remote whether the slot is on another host
    Map<String, String> of(Slot slot, boolean remote) {
        Map<String, String> variables = common(slot.host(), remote);
        variables.putAll(threads.variables(slot.host(), slot.localSize()));
        variables.putAll(gpuAssignment.variables(slot.localRank()));
        // Otherwise a job that an elastic worker starts would inherit it.
        put(variables, ElasticOptions.ELASTIC, false);
        put(variables, Options.RANK, slot.rank());
        put(variables, Options.SIZE, slot.size());
        put(variables, Options.LOCAL_RANK, slot.localRank());
        put(variables, Options.LOCAL_SIZE, slot.localSize());
        put(variables, Options.CROSS_RANK, slot.crossRank());
        put(variables, Options.CROSS_SIZE, slot.crossSize());
        return variables;
    }

    /// The variables of an elastic worker, which asks for its rank later.
    ///
    /// @param registryPort of the worker registry, at the address of the rendezvous server
    /// @param ranksOfHost how many workers its host has at most
    /// @param remote whether it runs on another host
    /// @throws org.horovod4j.ConfigurationException when the host has too few GPUs
    Map<String, String> of(Worker worker, int registryPort, int ranksOfHost, boolean remote) {
        Map<String, String> variables = common(worker.host(), remote);
        variables.putAll(threads.variables(worker.host(), ranksOfHost));
        gpuAssignment.check(worker.host(), worker.slot() + 1);
        variables.putAll(gpuAssignment.variables(worker.slot()));
        put(variables, ElasticOptions.ELASTIC, true);
        // Its place among the processes of the host changes.
        put(variables, Options.BIND_TO, BindTo.NONE);
        put(variables, ElasticOptions.WORKER, worker.number());
        put(variables, ElasticOptions.PORT, registryPort);
        return variables;
    }

    private Map<String, String> common(String host, boolean remote) {
        Map<String, String> variables = new LinkedHashMap<>(options);
        put(variables, Options.HOSTNAME, host);
        put(
                variables,
                Options.RENDEZVOUS_ADDR,
                remote ? launcherAddress.forHost(host) : launcherAddress.local());
        put(variables, Options.RENDEZVOUS_PORT, launcherAddress.port());
        put(variables, Options.RENDEZVOUS_SERVER, RendezvousHost.LAUNCHER);
        // The host writes the value to a file, see HostAgent.start.
        variables.put(HostAgent.SECRET_FILE, settings.secret().encode());
        put(variables, Options.JOB_ID, settings.id());
        variables.put(UNBUFFERED, "1");
        return variables;
    }

    private static <T extends Comparable<T>> void put(
            Map<String, String> variables, Option<T> option, T value) {
        variables.put(option.variable(), option.format(value));
    }
}
