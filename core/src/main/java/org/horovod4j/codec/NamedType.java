package org.horovod4j.codec;

/// A class that the bytes name. It is described where it first appears and numbered from then on.
sealed interface NamedType permits RecordType, EnumType {
    Class<?> type();
}
