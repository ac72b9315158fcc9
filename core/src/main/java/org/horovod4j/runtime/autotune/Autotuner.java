package org.horovod4j.runtime.autotune;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.AutotuneSettings;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/// Changes the tuning of a running job until it has found the fastest one, or that the defaults are
/// fast enough. It runs on the coordinator, which sends each tuning to the other ranks.
///
/// | phase   | tunings                                    | samples                                 |
/// |---------|--------------------------------------------|-----------------------------------------|
/// | warm-up | the defaults                               | [AutotuneSettings#warmupSamples]        |
/// | search  | the defaults, then [CoordinateSearch#next] | [AutotuneSettings#maxSamples] at most   |
/// | compare | the defaults and the best, alternating     | 12 to 46, or none if the defaults lead  |
///
/// A tuning is used only if the comparison shows that it is faster than the defaults, so a search
/// never makes a job slower. Not thread-safe.
public final class Autotuner {
    /// Steps that do not count after a change: the ranks negotiate, and lock a plan after two equal
    /// steps.
    private static final int SETTLING_STEPS = 3;

    private final AutotuneSettings settings;
    private final Tuning defaults;
    private final SearchSpace searchSpace;
    private final Consumer<String> progress;
    private final AutotuneLog log;
    private final CoordinateSearch search;
    private final TuningComparison tuningComparison = new TuningComparison();

    private Phase phase = Phase.WARMUP;
    private Tuning current;
    private Tuning best;
    private TunerSample tunerSample;
    private int samples;

    private enum Phase {
        WARMUP,
        SEARCH,
        COMPARE,
        DONE
    }

    /// Starts a search, or uses the result that an earlier run has saved: see [#current].
    ///
    /// @param defaults the current tuning, with the knobs that the user has fixed
    /// @param searchSpace the knobs that may be changed
    /// @param progress receives a line for each sample and one for the result
    /// @throws ConfigurationException when a file cannot be written, or a saved tuning is damaged
    public Autotuner(
            AutotuneSettings settings,
            Tuning defaults,
            SearchSpace searchSpace,
            Consumer<String> progress) {
        this.settings = settings;
        this.defaults = defaults;
        this.searchSpace = searchSpace;
        this.progress = progress;
        this.current = defaults;
        this.best = defaults;
        this.log = new AutotuneLog(settings.enabled() ? settings.log() : null, progress);
        this.search = new CoordinateSearch(searchSpace, defaults);
        this.tunerSample = new TunerSample(settings.stepsPerSample(), 0);
        begin();
    }

    private void begin() {
        if (!settings.enabled()) {
            phase = Phase.DONE;
        } else if (searchSpace.free().isEmpty()) {
            phase = Phase.DONE;
            progress.accept("autotune: nothing to search, every knob is fixed or without effect");
        } else if (!reuse()) {
            phase = settings.warmupSamples() > 0 ? Phase.WARMUP : Phase.SEARCH;
        }
    }

    private boolean reuse() {
        Path file = settings.file();
        if (file == null) {
            return false;
        }
        Optional<SavedTuning> saved = SavedTuning.read(file);
        Optional<String> misfit =
                saved.flatMap(found -> found.mismatchReason(searchSpace, defaults));
        misfit.ifPresent(
                why -> progress.accept("autotune: %s is not used: %s".formatted(file, why)));
        if (saved.isEmpty() || misfit.isPresent()) {
            SavedTuning.checkWritable(file);
            return false;
        }
        phase = Phase.DONE;
        current = saved.get().tuning();
        best = current;
        progress.accept("autotune: %s, from %s".formatted(describe(best), file));
        log.row("best", best, saved.get().score());
        return true;
    }

    /// The tuning to use now.
    public Tuning current() {
        return current;
    }

    /// The best tuning so far; when done, the final one.
    public Tuning best() {
        return best;
    }

    /// Whether the tuning is final.
    public boolean isDone() {
        return phase == Phase.DONE;
    }

    /// Records a training step that used the [#current] tuning.
    ///
    /// @param bytes the bytes reduced in the step
    /// @param nanos the duration of the step
    /// @return the next tuning if it changes, else null
    public @Nullable Tuning step(long bytes, long nanos) {
        if (isDone() || !tunerSample.add(bytes, nanos)) {
            return null;
        }
        samples++;
        double score = tunerSample.score();
        learn(score, tunerSample);
        report(score);
        Tuning next = next();
        boolean changes = !next.equals(current);
        current = next;
        tunerSample = new TunerSample(settings.stepsPerSample(), changes ? SETTLING_STEPS : 0);
        return changes ? next : null;
    }

    private void learn(double score, TunerSample tunerSample) {
        switch (phase) {
            case SEARCH -> {
                search.observe(current, score);
                best = search.best();
            }
            case COMPARE -> tuningComparison.add(tunerSample);
            case WARMUP, DONE -> {} // nothing to learn
        }
    }

    private void report(double score) {
        String name = phase.name().toLowerCase(Locale.ROOT);
        log.row(name, current, score);
        progress.accept(
                String.format(
                        Locale.ROOT,
                        "autotune: sample %d of at most %d (%s): %s: %.1f bytes/us; best so far: %s",
                        samples,
                        maxSamples(),
                        name,
                        describe(current),
                        score,
                        describe(best)));
    }

    private int maxSamples() {
        return settings.warmupSamples() + settings.maxSamples() + 2 * TuningComparison.MAX_PAIRS;
    }

    private Tuning next() {
        return switch (phase) {
            case WARMUP -> warmUp();
            case SEARCH -> searchNext();
            case COMPARE -> compare();
            case DONE -> current;
        };
    }

    private Tuning warmUp() {
        if (samples == settings.warmupSamples()) {
            phase = Phase.SEARCH;
        }
        return defaults;
    }

    private Tuning searchNext() {
        if (search.samples() < settings.maxSamples()) {
            return search.next();
        }
        if (best.equals(defaults)) {
            return finish(
                    defaults, search.score(defaults), "the defaults stay, nothing was faster");
        }
        phase = Phase.COMPARE;
        return compare();
    }

    private Tuning compare() {
        return switch (tuningComparison.verdict()) {
            case UNDECIDED -> tuningComparison.isCandidatesTurn() ? best : defaults;
            case CANDIDATE ->
                    finish(
                            best,
                            tuningComparison.candidateScore(),
                            String.format(
                                    Locale.ROOT,
                                    "%.1f %% faster than the defaults",
                                    100 * tuningComparison.gain()));
            case DEFAULTS ->
                    finish(
                            defaults,
                            tuningComparison.defaultsScore(),
                            "the defaults stay, nothing was surely faster");
        };
    }

    private Tuning finish(Tuning chosen, double score, String why) {
        phase = Phase.DONE;
        best = chosen;
        log.row("best", chosen, score);
        String options =
                searchSpace.free().stream()
                        .map(knob -> knob.variable() + "=" + knob.text(knob.read(chosen)))
                        .collect(Collectors.joining(" "));
        progress.accept(
                String.format(
                        Locale.ROOT,
                        "autotune: done after %d samples: %s at %.1f bytes/us: %s; to have it from"
                                + " the start, without a search: %s",
                        samples,
                        describe(chosen),
                        score,
                        why,
                        options));
        save(new SavedTuning(searchSpace, chosen, score));
        return chosen;
    }

    /// A failed write loses the result, and the training continues.
    private void save(SavedTuning result) {
        Path file = settings.file();
        if (file == null) {
            return;
        }
        try {
            result.write(file);
            progress.accept("autotune: saved in %s for the next run".formatted(file));
        } catch (IOException e) {
            progress.accept("autotune: the result could not be saved in %s: %s".formatted(file, e));
        }
    }

    private String describe(Tuning tuning) {
        return searchSpace.free().stream()
                .map(knob -> knob.show(tuning))
                .collect(Collectors.joining(", "));
    }
}
