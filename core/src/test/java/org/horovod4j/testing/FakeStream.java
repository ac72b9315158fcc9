package org.horovod4j.testing;

import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.spi.DeviceEvent;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/// A stream of a fake device: a thread that runs tasks one after the other. If one fails, later ones do
/// not run, and events behind it report the failure.
final class FakeStream {
    private static final AtomicLong HANDLES = new AtomicLong(0x5000);
    private static final Map<Long, FakeStream> OPEN = new ConcurrentHashMap<>();

    private final DeviceStream stream;
    private final ExecutorService thread;
    private volatile @Nullable Throwable failure;

    private FakeStream(DeviceStream stream) {
        this.stream = stream;
        this.thread =
                Executors.newSingleThreadExecutor(
                        Thread.ofPlatform().daemon().name(stream.toString()).factory());
    }

    static DeviceStream open(Device device) {
        DeviceStream stream = new DeviceStream(device, HANDLES.incrementAndGet());
        OPEN.put(stream.handle(), new FakeStream(stream));
        return stream;
    }

    static FakeStream of(DeviceStream stream) {
        return Objects.requireNonNull(OPEN.get(stream.handle()), () -> stream + " is closed");
    }

    static void close(DeviceStream stream) {
        FakeStream closed = of(stream);
        OPEN.remove(stream.handle());
        closed.thread.shutdown();
    }

    void launch(Runnable task) {
        thread.execute(
                () -> {
                    if (failure == null) {
                        try {
                            task.run();
                        } catch (RuntimeException | Error e) {
                            failure = e;
                        }
                    }
                });
    }

    DeviceEvent record() {
        FakeEvent event = new FakeEvent();
        thread.execute(
                () -> {
                    Throwable failed = failure;
                    if (failed == null) {
                        event.reached.complete(true);
                    } else {
                        event.reached.completeExceptionally(failed);
                    }
                });
        return event;
    }

    @Override
    public String toString() {
        return stream.toString();
    }

    private static final class FakeEvent implements DeviceEvent {
        private final CompletableFuture<Boolean> reached = new CompletableFuture<>();
        private volatile boolean released;

        @Override
        public boolean isComplete() {
            checkInUse();
            if (reached.isCompletedExceptionally()) {
                throw new HorovodException("fake device: " + reached.exceptionNow().getMessage());
            }
            return reached.isDone();
        }

        @Override
        public void awaitOn(DeviceStream stream) {
            checkInUse();
            FakeStream.of(stream)
                    .launch(
                            () -> {
                                try {
                                    boolean _ = reached.join();
                                } catch (CompletionException e) {
                                    throw new IllegalStateException(e.getCause());
                                }
                            });
        }

        @Override
        public void release() {
            checkInUse();
            released = true;
        }

        private void checkInUse() {
            if (released) {
                throw new IllegalStateException("the event was released");
            }
        }
    }
}
