package org.horovod4j.spark.ml;

import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.util.Identifiable;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.Base64;

/// A parameter of an estimator that is a function or another object, such as the one that builds the
/// network. A saved estimator or model has its bytes, by Java's serialization: load only what you
/// trust.
///
/// @param <T> the type of its values
public final class SerializedParam<T extends Serializable> extends Param<T> {
    private static final long serialVersionUID = 1L;

    public SerializedParam(Identifiable parent, String name, String doc) {
        super(parent, name, doc);
    }

    @Override
    public String jsonEncode(T value) {
        byte[] bytes;
        try {
            bytes = serialize(value);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "parameter %s cannot be saved: %s is not serializable"
                            .formatted(name(), value.getClass().getName()),
                    e);
        }
        return '"' + Base64.getEncoder().encodeToString(bytes) + '"';
    }

    static byte[] serialize(Serializable value) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        return bytes.toByteArray();
    }

    @Override
    @SuppressWarnings("unchecked") // what jsonEncode has written
    public T jsonDecode(String json) {
        byte[] bytes = Base64.getDecoder().decode(json.substring(1, json.length() - 1));
        try (ObjectInputStream in = new LoaderInputStream(new ByteArrayInputStream(bytes))) {
            return (T) in.readObject();
        } catch (IOException | ClassNotFoundException e) {
            throw new IllegalStateException(
                    "parameter %s cannot be loaded: is the jar of the program that has saved it on the class path?"
                            .formatted(name()),
                    e);
        }
    }

    /// Finds the classes of the program, which Spark's class loader knows.
    private static final class LoaderInputStream extends ObjectInputStream {
        LoaderInputStream(InputStream in) throws IOException {
            super(in);
        }

        @Override
        protected Class<?> resolveClass(ObjectStreamClass description)
                throws IOException, ClassNotFoundException {
            try {
                return Class.forName(
                        description.getName(),
                        false,
                        Thread.currentThread().getContextClassLoader());
            } catch (ClassNotFoundException e) {
                return super.resolveClass(description); // primitive types
            }
        }
    }
}
