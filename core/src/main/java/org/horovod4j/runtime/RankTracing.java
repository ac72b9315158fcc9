package org.horovod4j.runtime;

import org.horovod4j.log.Log;
import org.horovod4j.option.TimelineSettings;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.runtime.timeline.Timeline;
import org.horovod4j.runtime.timeline.TraceMerger;
import org.horovod4j.runtime.timeline.TraceOwner;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

/// The recording of a rank: a timeline file if the user wants one, and events for Java Flight
/// Recorder.
///
/// Only rank 0 writes, unless the option for all ranks is set. Then each rank has a file, and the
/// rank that ends last merges all files that it can read.
final class RankTracing implements AutoCloseable {
    private static final Logger LOG = Log.of(RankTracing.class);

    private final int rank;
    private final int size;
    private final TimelineSettings settings;
    private final Timeline timeline;
    private final Recorder recorder;
    private @Nullable Path merged;

    RankTracing(RankContext context) {
        this.rank = context.rank();
        this.size = context.size();
        this.settings = context.settings().timeline();
        long limit = settings.maxBytes() == 0 ? Timeline.UNLIMITED : settings.maxBytes();
        String host = context.members().get(rank).host();
        RankZeroClock clock = new RankZeroClock(context);
        this.timeline = new Timeline(() -> new TraceOwner(rank, host, clock.offsetNanos()), limit);
        this.recorder = Recorder.of(List.of(timeline, Recorder.jfr(rank)));
    }

    Recorder recorder() {
        return recorder;
    }

    /// Starts the trace that the options name.
    void begin() {
        Path file = settings.file();
        if (file != null) {
            start(file, settings.markCycles());
        }
    }

    synchronized void start(Path file, boolean markCycles) {
        if (settings.allRanks()) {
            timeline.start(Timeline.fileOfRank(file, rank), markCycles);
            Path before = merged;
            merged = file;
            if (before != null && !before.equals(file)) {
                merge(before);
            }
        } else if (rank == 0) {
            timeline.start(file, markCycles);
        }
    }

    synchronized void stop() {
        timeline.stop();
        Path target = merged;
        merged = null;
        if (target != null) {
            merge(target);
        }
    }

    private void merge(Path target) {
        List<Path> files =
                IntStream.range(0, size)
                        .mapToObj(each -> Timeline.fileOfRank(target, each))
                        .toList();
        if (!files.stream().allMatch(Files::exists)) {
            return; // on another host, or not written yet
        }
        if (files.stream().anyMatch(Timeline::isBeingWritten)) {
            return; // the rank that writes it will merge
        }
        try {
            TraceMerger.merge(files, target);
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot merge the timelines of all ranks into " + target, e);
        }
    }

    @Override
    public void close() {
        stop();
    }
}
