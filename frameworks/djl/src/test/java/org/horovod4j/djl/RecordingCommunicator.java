package org.horovod4j.djl;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.Tensor;
import org.horovod4j.option.FrameworkSettings;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

/// Wraps a communicator and reports its calls to a test.
final class RecordingCommunicator {
    private final Communicator communicator;
    private final Listener listener;

    /// The tensors that were allocated.
    final List<Tensor> allocated = new ArrayList<>();

    /// Called for each allreduce before it is submitted, on the thread that submits it.
    interface Listener {
        void submitted(String name, MemorySegment tensor);
    }

    RecordingCommunicator(Communicator communicator, Listener listener) {
        this.communicator = communicator;
        this.listener = listener;
    }

    Communicator communicator() {
        return proxy(Communicator.class, this::communicate, FrameworkSettings.Source.class);
    }

    private Object communicate(Method method, Object[] arguments)
            throws ReflectiveOperationException {
        if (method.getName().equals("processSet")) {
            return proxy(ProcessSet.class, this::member);
        }
        if (method.getName().equals("allreduceAsync")) {
            listener.submitted((String) arguments[0], ((Tensor) arguments[1]).segment());
        }
        Object result = method.invoke(communicator, arguments);
        if (method.getName().equals("allocate")) {
            allocated.add((Tensor) result);
        }
        return result;
    }

    private Object member(Method method, Object[] arguments) throws ReflectiveOperationException {
        return method.getName().equals("communicator")
                ? communicator()
                : method.invoke(communicator.processSet(), arguments);
    }

    private interface Call {
        Object make(Method method, Object[] arguments) throws ReflectiveOperationException;
    }

    private static <T> T proxy(Class<T> type, Call call, Class<?>... others) {
        List<Class<?>> types = new ArrayList<>(List.of(others));
        types.add(type);
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        types.toArray(Class<?>[]::new),
                        (_, method, arguments) -> {
                            try {
                                return call.make(method, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        }));
    }
}
