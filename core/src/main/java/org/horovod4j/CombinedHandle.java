package org.horovod4j;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/// A handle for several operations; see [Handle#allOf].
///
/// @param <T> what each of them returns
record CombinedHandle<T>(List<? extends Handle<T>> handles) implements Handle<List<T>> {
    CombinedHandle {
        handles = List.copyOf(handles);
    }

    @Override
    public boolean isDone() {
        return handles.stream().allMatch(Handle::isDone);
    }

    @Override
    public List<T> join() {
        return results(Handle::join);
    }

    @Override
    public List<T> join(Duration timeout) {
        HandleDeadline deadline = HandleDeadline.after(timeout);
        return results(handle -> handle.join(deadline.remaining()));
    }

    @Override
    public List<T> awaitOn(DeviceStream stream) {
        return results(handle -> handle.awaitOn(stream));
    }

    /// @param wait for one of them; a timeout ends the wait for all
    private List<T> results(Function<Handle<T>, T> wait) {
        List<T> results = new ArrayList<>(handles.size());
        HorovodException first = null;
        for (Handle<T> handle : handles) {
            try {
                results.add(wait.apply(handle));
            } catch (OperationTimeoutException e) {
                throw e;
            } catch (HorovodException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
        return results;
    }

    @Override
    public void whenDone(Runnable action) {
        AtomicInteger running = new AtomicInteger(handles.size() + 1);
        Runnable countDown =
                () -> {
                    if (running.decrementAndGet() == 0) {
                        action.run();
                    }
                };
        handles.forEach(handle -> handle.whenDone(countDown));
        countDown.run(); // if there are no handles
    }

    @Override
    public Optional<HorovodException> failure() {
        return handles.stream().map(Handle::failure).flatMap(Optional::stream).findFirst();
    }
}
